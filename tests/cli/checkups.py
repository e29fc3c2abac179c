"""What `fairgear data` finds in a file, for its tests."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from fairgear.cli import main
from fairgear.datasets import GraphSource
from fairgear.datasets.checkup.checkup import Checkup, check_up
from fairgear.datasets.source import FileOptions
from fairgear.errors import FairgearError
from fairgear.progress import quiet
from tests.graph.people import people

RIGHT: dict[str, Any] = {"label": "approved", "sensitive": "sex", "similarity": 0.7}
LISTED: dict[str, Any] = {"label": "approved", "sensitive": "sex", "edges": "friends.csv"}


def examined(file: str = "people.csv", **options: Any) -> Checkup:
    """What is found; its verdict must be that of a run, and its command must work."""
    found = check_up(GraphSource(file, data=FileOptions(**options)))
    assert found.accepted == accepted(file, **options)
    if found.command is not None:
        program, verb, name, *typed = shlex.split(found.command)
        assert (program, verb, name) == ("fairgear", "run", file)
        assert accepted(file, **parsed(typed)), found.command
    assert found.accepted == (not any(one.refused for one in found.findings))
    return found


def parsed(typed: list[str]) -> dict[str, Any]:
    """Flags as settings, by the parser of the command line itself."""
    seen: list[dict[str, Any]] = []

    def note(source: GraphSource) -> None:
        seen.append({name: getattr(source.data, name) for name in source.data.given()})
        raise FairgearError("", "", "", "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphSource, "unknown_names", note)
        main(["data", "people.csv", *typed])
    return seen[0]


def accepted(file: str, **options: Any) -> bool:
    """Whether `fairgear run` comes as far as training."""
    try:
        with quiet():
            source = GraphSource(file, data=FileOptions(**options)).checked()
            source.check_names()
            source.with_default_split().load()
    except FairgearError:
        return False
    return True


def table(**columns: Any) -> None:
    people().assign(**columns).to_csv("people.csv", index=False)


def said(found: Checkup, about: str) -> str:
    """All that is said about something."""
    return " | ".join(
        f"{one.said} [{one.fix}]{'!' if one.refused else ''}"
        for one in found.findings
        if about in one.about
    )
