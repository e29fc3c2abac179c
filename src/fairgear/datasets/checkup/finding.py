"""A finding about a file, and the flags that answer it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fairgear.datasets.source import FileOptions


@dataclass(frozen=True)
class Finding:
    """Something about a file that its owner should know.

    Args:
        about: a column, the edges, the people.
        said: a sentence.
        change: settings that answer it, such as {"drop": ["note"]}.
        advice: what else can be done, in words.
        refused: whether `fairgear run` refuses the file because of it.
    """

    about: str
    said: str
    change: Mapping[str, Any] = field(default_factory=dict)
    advice: str = ""
    refused: bool = False

    @property
    def fix(self) -> str:
        """The flags that answer it, and the advice."""
        return ", or ".join(part for part in (flags_of(self.change), self.advice) if part)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {"about": self.about, "said": self.said, "fix": self.fix}
        return {**found, "change": dict(self.change), "refused": self.refused}


def flags_of(settings: Mapping[str, Any]) -> str:
    """Settings of a file as they are typed."""
    typed: list[str] = []
    for name, value in settings.items():
        typed.append(f"--{'no-' if value is False else ''}{name.replace('_', '-')}")
        if isinstance(value, list):
            typed += [shlex.quote(word) for word in value]
        elif not isinstance(value, bool):
            typed.append(shlex.quote(str(value)))
    return " ".join(typed)


def changed(options: FileOptions, findings: list[Finding]) -> FileOptions:
    """The settings with the changes that answer what is refused; lists grow, the last counts."""
    for finding in findings:
        for name, value in finding.change.items() if finding.refused else ():
            held = getattr(options, name)
            if isinstance(value, list):
                value = [*held, *(word for word in value if word not in held)]
            options = replace(options, **{name: value})
    # A column of ids is no feature, and need not be left out.
    return replace(options, drop=[name for name in options.drop if name != options.id])


def command(file: str, options: FileOptions, name: str = "run") -> str:
    """`fairgear run`, or another command, with these settings."""
    given = options.given()
    values = {item.name: getattr(options, item.name) for item in fields(options)}
    typed = {name: values[name] for name in given if name != "sha256"}
    return f"fairgear {name} {shlex.quote(file)} {flags_of(typed)}".strip()
