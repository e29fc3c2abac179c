"""action.yml and the GitLab job: their schemas, and their shell on a saved model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from junitparser import JUnitXml

from fairgear.auditing import Audit
from fairgear.methods import METHODS
from tests.auditing.models import small_graph
from tests.packaging.steps import ACTION, BIN, GITLAB, action, job, run_action, run_job

OPTIONS = "--draws 1 --self-people 2 --what-if-people 0\n--no-other-causal-models"
CONDITIONS = "delta_cf > 0.9\n\n  accuracy < 1\n"
# What a shell would run, were it a part of a script.
HOSTILE = "$(touch pwned) `touch pwned`; touch pwned #"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("a model") / "saved"
    METHODS["logistic"]().fit(small_graph(200)).save(folder)
    return str(folder)


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    """Programs that note what they are called with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("fairgear", "python"):
        program = folder / name
        program.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            f"open({str(tmp_path / name)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
        )
        program.chmod(0o755)
    return folder


def called(folder: Path, name: str) -> list[Any]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


@pytest.mark.parametrize(
    ("schema", "path"), [("vendor.github-actions", ACTION), ("vendor.gitlab-ci", GITLAB)]
)
def test_it_is_what_its_schema_says(schema: str, path: Path) -> None:
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_nothing_is_put_into_a_script() -> None:
    scripts = [step["run"] for step in action()["runs"]["steps"] if "run" in step]
    assert len(scripts) == 3
    for script in (*scripts, *job()["script"]):
        assert "${{" not in script
        assert "$[[" not in script
        assert "eval" not in script


def test_both_make_the_same_command() -> None:
    (step,) = [step for step in action()["runs"]["steps"] if step.get("id") == "audit"]
    parts = [
        re.findall(r"command=\(.*<<< \"\$FAIRGEAR_FAIL_IF\"\n", script, flags=re.DOTALL)
        for script in (step["run"], job()["script"][-1])
    ]
    assert parts[0] == parts[1]
    assert len(parts[0]) == 1


def test_inputs_are_words_and_never_commands(tmp_path: Path, fake: Path) -> None:
    given = {
        "model": HOSTILE,
        "data": f"people {HOSTILE}.csv",
        "options": f"--label 'a b' --sensitive \"race,sex\"\n--id '{HOSTILE}' *",
        "fail-if": f"delta_cf > 0.05\r\n{HOSTILE}",
        "requirements": HOSTILE,
        "out": f"out {HOSTILE}",
    }
    done = run_action(tmp_path, given, path=fake)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "pwned").exists()
    (words,) = called(tmp_path, "fairgear")
    expected = ["audit", HOSTILE, given["data"], "--label", "a b", "--sensitive", "race,sex"]
    expected += ["--id", HOSTILE, "*", "--fail-if", "delta_cf > 0.05\r", "--fail-if", HOSTILE]
    assert words == [*expected, "--out", given["out"], "--junit", f"{given['out']}.xml"]
    install, requirements = called(tmp_path, "python")
    assert install == ["-m", "pip", "install", str(ACTION.parent)]
    assert requirements == ["-m", "pip", "install", "-r", HOSTILE]
    # The same of the job.
    for name in ("fairgear", "python"):
        (tmp_path / name).unlink()
    done = run_job(
        tmp_path,
        {
            "FAIRGEAR_PACKAGE": HOSTILE,
            "FAIRGEAR_REQUIREMENTS": HOSTILE,
            "FAIRGEAR_MODEL": HOSTILE,
            "FAIRGEAR_DATA_FILE": given["data"],
            "FAIRGEAR_OPTIONS": given["options"],
            "FAIRGEAR_FAIL_IF": given["fail-if"],
        },
        path=fake,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "pwned").exists()
    out = ["--out", "fairgear-audit", "--junit", "fairgear-audit.xml"]
    assert called(tmp_path, "fairgear") == [[*expected, *out]]
    assert called(tmp_path, "python") == [["-m", "pip", "install", HOSTILE], requirements]


def test_a_flag_with_an_open_quote_fails(tmp_path: Path, fake: Path) -> None:
    done = run_action(tmp_path, {"model": "m", "fail-if": "f1 < 1", "options": "'a"}, path=fake)
    assert done.returncode not in (0, 3)
    assert not (tmp_path / "fairgear").exists()
    done = run_action(tmp_path, {"model": "m", "fail-if": "", "out": "a\nstatus=0"}, path=fake)
    assert done.returncode == 2
    assert not (tmp_path / "output").exists()


def test_the_action_audits_and_fails_the_job(tmp_path: Path, model: str) -> None:
    given = {"model": model, "data": "synthetic", "options": OPTIONS, "fail-if": CONDITIONS}
    done = run_action(tmp_path, {**given, "install": "false"})
    assert done.returncode == 3, done.stderr
    _audited(tmp_path)
    outputs = dict(line.split("=") for line in (tmp_path / "output").read_text().splitlines())
    assert outputs["status"] == "3"
    assert (tmp_path / outputs["page"]).read_text().rstrip().endswith("</html>")
    assert (tmp_path / outputs["junit"]).exists()
    summary = (tmp_path / "summary").read_text()
    assert summary == (tmp_path / "fairgear-audit" / "model-card.md").read_text()
    # What the action gives out is what its step writes, and what it uploads is there.
    assert set(action()["outputs"]) == set(outputs)
    upload = action()["runs"]["steps"][-1]
    assert upload["if"].startswith("always()")
    paths = upload["with"]["path"].replace("${{ inputs.out }}", "fairgear-audit").split()
    assert all((tmp_path / path).exists() for path in paths)


def test_the_job_audits_and_fails_the_pipeline(tmp_path: Path, model: str) -> None:
    given = {"FAIRGEAR_MODEL": model, "FAIRGEAR_DATA_FILE": "synthetic"}
    given |= {"FAIRGEAR_OPTIONS": OPTIONS, "FAIRGEAR_FAIL_IF": CONDITIONS}
    done = run_job(tmp_path, given)
    assert done.returncode == 3, done.stderr
    _audited(tmp_path)
    artifacts = job()["artifacts"]
    assert artifacts["when"] == "always"
    for path in (*artifacts["paths"], artifacts["reports"]["junit"]):
        assert (tmp_path / path).exists()


def _audited(folder: Path) -> None:
    audit = Audit.load(folder / "fairgear-audit")
    (suite,) = JUnitXml.fromfile(str(folder / "fairgear-audit.xml"))
    kept, met = list(suite)
    assert not kept.result
    assert [failure.message for failure in met.result] == audit.failures("accuracy < 1")
