"""Pages that the program writes about itself: its commands, and the settings of its methods."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from fairgear.cli.app import app, main

_HEAD = """# Settings of methods

What `--set NAME=VALUE` and the constructors take, as `fairgear methods show` prints it.
[Methods](methods/index.md) says what each method does.
"""


def write(folder: Path) -> None:
    """Both pages."""
    _update(folder / "settings.md", settings())
    _update(folder / "command-line.md", commands())


def settings() -> str:
    """The settings of every method."""
    names = [one["name"] for one in _asked("list")["methods"]]
    return "\n".join([_HEAD, *(_section(_asked("show", name)) for name in names)])


def commands() -> str:
    """Every command with its options."""
    _, _, text = app.generate_docs(output_format="markdown").partition("\n")
    return f"# Command line\n\nMade from the program; `--help` prints the same.\n{text}"


def _update(path: Path, text: str) -> None:
    """A page that stays as it is need not be read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _asked(*words: str) -> dict[str, Any]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if main(["methods", *words, "--json"]) != 0:
            raise RuntimeError(f"fairgear methods {' '.join(words)} failed")
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def _section(method: dict[str, Any]) -> str:
    lines = [f"## {method['name']}", "", method["summary"], ""]
    lines += ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
    for name, one in method["settings"].items():
        cells = (f"`{name}`", f"`{json.dumps(one['default'])}`", one["allowed"], one["meaning"])
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])
