"""Pages whose code is run, block after block, and whose outputs are what it printed.

A block of Python that begins with `# NAME.py` is written to that file, for the others to use. In
blocks of the console, commands of fairgear are called here and all others are left to a shell.
A comment before a block may say `not run: WHY`; it is parsed all the same (`parsing.py`). `run:
FLAGS` runs it with these added to every command of fairgear, so that it trains less.
`python -m tests.docs.pages docs/start/tutorial.md` runs a page and writes its outputs anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any
from unittest.mock import patch

from fairgear.cli.app import main

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?:<!-- (?P<mark>run|not run): (?P<why>[^\n]*) -->\n[ ]*)?"
    r"```(?P<kind>python|console)\n(?P<code>.*?)```\n(?:\n```text\n(?P<shown>.*?)```\n)?",
    flags=re.DOTALL,
)
_NUMBER = re.compile(r"-?\d+\.\d+")
# Another processor sums in another order, and somebody at the threshold may fall to the other side.
NEAR = 0.005
# What training makes of that: another model, as near as one of another seed. Gaps between small
# groups and the ends of intervals move most.
NEAR_TRAINED = 0.06
# Which of two models is better is told by the ends of an interval, which are compared as numbers.
_VERDICT = re.compile(r" (first|second)$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block of code.

    Attributes:
        kind: "python" or "console".
        code: as it stands on the page.
        shown: the output on the page; empty where there is none.
        printed: what it printed when it was run.
        trained: whether it speaks of a model that the page trains.
    """

    kind: str
    code: str
    shown: str
    printed: str
    trained: bool = False

    def as_shown(self) -> bool:
        """Whether it printed what the page says."""
        if not self.trained:
            return alike(self.shown, self.printed)
        shown, printed = (_VERDICT.sub("", text) for text in (self.shown, self.printed))
        return alike(shown, printed, near=NEAR_TRAINED)


def blocks_of(page: Path) -> list[re.Match[str]]:
    """The blocks of code on a page, whether they are run or not: `mark`, `why`, `kind`, `code`."""
    return list(_BLOCK.finditer(page.read_text(encoding="utf-8")))


def run_blocks(page: Path, folder: Path, names: dict[str, Any]) -> list[Block]:
    """Run a page in an empty folder, with the examples beside it; its Python shares `names`."""
    (folder / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = []
    trained = {"Gear"}
    with contextlib.chdir(folder), patch.dict(os.environ, PATH=path):
        console = _Console()
        for match in blocks_of(page):
            kind, code, mark = match["kind"], match["code"], match["mark"]
            if mark == "not run":
                continue
            if kind == "console":
                shown = "".join(line for line in code.splitlines(True) if not line.startswith("$"))
                added = match["why"] if mark == "run" else ""
                found.append(Block(kind, code, shown, console.run(code, added)))
            else:
                speaks = not trained.isdisjoint(re.findall(r"\w+", code))
                if speaks:
                    # What is made of such a model hangs on it too.
                    trained.update(re.findall(r"^(\w+) = ", code, flags=re.MULTILINE))
                printed = _python(page, code, names)
                found.append(Block(kind, code, match["shown"] or "", printed, speaks))
    return found


def alike(shown: str, printed: str, near: float = NEAR) -> bool:
    """Whether two outputs say the same: every word, and every number but for rounding."""
    words = [_NUMBER.sub("#", text).split() for text in (shown, printed)]
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in (shown, printed)]
    return words[0] == words[1] and all(
        abs(one - other) <= near for one, other in zip(*numbers, strict=True)
    )


def prose_numbers(page: Path) -> set[str]:
    """The decimal numbers that a page mentions outside its blocks."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return set(re.findall(r"\d+\.\d+", prose))


def _python(page: Path, code: str, names: dict[str, Any]) -> str:
    """Run a block, or write it to the file that it names."""
    named = re.match(r"# (\w+\.py)\n", code)
    if named is not None:
        Path(named[1]).write_text(code, encoding="utf-8")
        return ""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(page), "exec"), names)
    return output.getvalue()


class _Console:
    """A shell that remembers its variables and the exit status of the last command."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}
        self._status = 0

    def run(self, block: str, added: str = "") -> str:
        """What `echo $?` prints; a command that fails must have one after it."""
        printed = ""
        commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
        for i, command in enumerate(commands):
            if command == "echo $?":
                printed += f"{self._status}\n"
                continue
            self._do(f"{command} {added}" if command.startswith("fairgear ") else command)
            if self._status and commands[i + 1 : i + 2] != ["echo $?"]:
                raise AssertionError(f"exit status {self._status}: {command}")
        return printed

    def _do(self, command: str) -> None:
        assigned = re.fullmatch(r'([A-Z]+)="(.*)"', command)
        if assigned is not None:
            self._variables[assigned[1]] = assigned[2]
        elif command.startswith("fairgear "):
            words = shlex.split(Template(command).substitute(self._variables))
            with contextlib.redirect_stdout(io.StringIO()):
                self._status = main(words[1:])
        else:
            self._status = subprocess.run(["bash", "-c", command], check=False).returncode


def _write_outputs(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        blocks = iter(run_blocks(page, Path(folder), {}))

    def written(match: re.Match[str]) -> str:
        if match["mark"] == "not run":
            return match[0]
        block = next(blocks)
        output, mark = "", ""
        if block.kind == "python" and block.printed:
            output = f"\n```text\n{block.printed}```\n"
        if match["mark"]:
            mark = f"<!-- {match['mark']}: {match['why']} -->\n"
        return f"{mark}```{block.kind}\n{block.code}```\n{output}"

    text = page.read_text(encoding="utf-8")
    page.write_text(_BLOCK.sub(written, text), encoding="utf-8")


if __name__ == "__main__":
    _write_outputs(Path(sys.argv[1]).resolve())
