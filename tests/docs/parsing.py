"""Commands and files on pages that no test runs: at least what fairgear is told must exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import yaml

from fairgear.cli.app import app

ROOT = Path(__file__).parents[2]
# Languages of blocks, beside the outputs of others and formulas (text) and directives of the site.
PLAIN = {"text", "bibtex", "{toctree}", "{include}"}


def parse(kind: str, code: str) -> None:
    """Refuse code that does not parse, and commands that fairgear, make or pip do not know."""
    if kind == "python":
        compile(code, "page", "exec")
    elif kind == "toml":
        tomllib.loads(code)
    elif kind == "yaml":
        list(yaml.safe_load_all(code))
    elif kind not in {"console", "bash"}:
        raise AssertionError(f"a block of {kind!r}; allowed: python, console, bash, toml, yaml")
    for command in commands(kind, code):
        parse_command(command)


def commands(kind: str, code: str) -> Iterator[str]:
    """The commands of a block, with continued lines joined."""
    code = code.replace("\\\n", " ")
    if kind == "console":
        for line in code.splitlines():
            if line.startswith("$ "):
                yield line[2:]
    elif kind == "bash":
        subprocess.run(["bash", "-n"], input=code, text=True, check=True)
        yield from (line for line in code.splitlines() if not line.startswith("#"))
    elif kind == "yaml":
        # The command of a job: a folded string.
        for text in re.findall(r"(?:run|- ): >-?\n((?:\s+.*\n)+?)(?=\S|- |\Z)", code):
            yield " ".join(text.split())


def parse_command(line: str) -> None:
    """One command: a shell must be able to read it, and its program must know the words."""
    subprocess.run(["bash", "-n"], input=line.replace("…", ""), text=True, check=True)
    words = [word for word in shlex.split(line, comments=True) if word != "…"]
    for part in _programs(words):
        for at, word in enumerate(part):
            if word.removeprefix(".venv/bin/") == "fairgear":
                # What stands before it starts it.
                parse_fairgear(part[at + 1 :])
                break
            if word == "-m" and part[at + 1].split(".")[0] in {"benchmarks", "tests"}:
                assert importlib.util.find_spec(part[at + 1]), f"no module {part[at + 1]}"
            if word == "pip":
                _known_extras(part)
        if part[:1] == ["make"]:
            _known_targets(part[1:])


def _programs(words: list[str]) -> Iterator[list[str]]:
    """The words of each program of a line, without the files that it reads or writes."""
    part: list[str] = []
    for word in [*words, ";"]:
        if word in {"|", "&&", ";", "do", ">", ">>"}:
            yield part
            part = []
        else:
            part.append(word)


def parse_fairgear(words: list[str]) -> None:
    """Raise what the command line raises for words that it does not know."""
    known = [word for word in words if not word.startswith("$")]
    if not {"--help", "--version"} & set(known):
        app.parse_args(known, exit_on_error=False, print_error=False)


def _known_targets(words: list[str]) -> None:
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in words:
        if "=" not in target:
            assert re.search(rf"^{target}:", targets, re.MULTILINE), f"no make {target}"


def _known_extras(words: list[str]) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = settings["project"]["optional-dependencies"]
    for extra in re.findall(r"\[([\w,-]+)\]", " ".join(words)):
        assert set(extra.split(",")) <= set(known), f"no extra {extra}"
