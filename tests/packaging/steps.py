"""The shell of action.yml and of the GitLab job, run as their runners do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "packaging" / "gitlab" / "fairgear.yml"
BIN = Path(sys.executable).parent


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return found


def job() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(GITLAB.read_text(encoding="utf-8"))[".fairgear-audit"]
    return found


def run_action(
    folder: Path, given: Mapping[str, str], *, path: Path = BIN
) -> subprocess.CompletedProcess[str]:
    """Its steps with a script, until one fails, as GitHub runs `shell: bash`."""
    inputs = {name: one.get("default", "") for name, one in action()["inputs"].items()}
    values = {f"inputs.{name}": text for name, text in {**inputs, **given}.items()}
    values["github.action_path"] = str(ROOT)
    runner = {
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    done = None
    for step in action()["runs"]["steps"]:
        if "run" not in step or not _holds(step.get("if", ""), values):
            continue
        named = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)
            for name, text in step.get("env", {}).items()
        }
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
        done = _run([*bash, "-c", step["run"]], folder, {**runner, **named}, path)
        if done.returncode:
            break
    assert done is not None
    return done


def run_job(
    folder: Path, given: Mapping[str, str], *, path: Path = BIN
) -> subprocess.CompletedProcess[str]:
    """Its script in one shell, as GitLab does."""
    variables = {**job()["variables"], **given}
    script = "\n".join(["set -eo pipefail", *job()["script"]])
    return _run(["bash", "-c", script], folder, variables, path)


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    """The conditions of its steps with a script: an input is, or is not, some text."""
    found = re.fullmatch(r"(inputs\.[a-z-]+) (==|!=) '(.*)'", condition)
    assert found is not None or not condition, condition
    return found is None or (values[found[1]] == found[3]) == (found[2] == "==")


def _run(
    command: list[str], folder: Path, variables: Mapping[str, str], path: Path
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
