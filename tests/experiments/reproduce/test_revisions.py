"""Whoever changes what a method does by default must say so: rows of before are not its rows."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.reproduce.recipe import NAMES, recipe
from fairgear.experiments.reproduce.records import key_of
from fairgear.experiments.reproduce.revisions import REVISIONS, revision
from fairgear.methods import METHODS
from tests.experiments.reproduce.toy import toy_study

# Entry to its revision and the digest of its settings at that revision.
KEPT = {
    "gear": (1, "045fcc25b36c30df"),
    "gear:preset=paper": (1, "a6ecc73d26b9b374"),
    "gcn": (1, "47be23e1bfa50ae4"),
    "graphsage": (1, "47be23e1bfa50ae4"),
    "gin": (1, "47be23e1bfa50ae4"),
    "c-enc": (1, "63693d682e250790"),
    "fairgnn": (1, "bab39f9efe8c485f"),
    "nifty-gcn": (1, "4d07239af53572ba"),
    "nifty-sage": (1, "4d07239af53572ba"),
    "logistic": (1, "a78c6520076f2567"),
    "logistic-unaware": (1, "a78c6520076f2567"),
    "logistic-residual": (1, "a78c6520076f2567"),
    "logistic-projected": (1, "a78c6520076f2567"),
    "boosting": (1, "38d28fcb575d2364"),
}


def digest(text: str) -> str:
    """Of all settings that the entry runs with, whoever has set them."""
    entry = Entry.of(text)
    made: Any = METHODS[entry.method](**entry.run("synthetic", 0, "released").method_settings())
    canonical = json.dumps(made.config.to_dict(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


@pytest.mark.parametrize("text", KEPT)
def test_other_settings_are_another_revision(text: str) -> None:
    number, kept = KEPT[text]
    now, found = revision(Entry.of(text)), digest(text)
    if now == number:
        assert found == kept, (
            f"the default settings of {text} have changed, and rows measured before would count "
            f"as theirs: raise {text!r} in REVISIONS (experiments/reproduce/revisions.py) to "
            f"{number + 1}, and write {text!r}: ({number + 1}, {found!r}) in KEPT here"
        )
    assert now == number, (
        f"{text} is at revision {now}: write {text!r}: ({now}, {found!r}) in KEPT here"
    )


def test_every_method_of_the_tables_is_watched() -> None:
    used = {one.entry.method for name in NAMES for one in recipe(name).lines}
    assert {*KEPT} >= used
    assert {*KEPT} >= {*REVISIONS}


def test_settings_follow_the_preset_that_they_start_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REVISIONS, "gear", 7)
    monkeypatch.setitem(REVISIONS, "gear:preset=paper", 3)
    labels = ("gear", "gear:erase=0", "gear:preset=paper", "gear:k=5,preset=paper", "logistic")
    assert [revision(Entry.of(label)) for label in labels] == [7, 7, 3, 3, 1]


def test_a_raised_revision_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = toy_study().cells()[0]
    before = key_of(cell)
    monkeypatch.setitem(REVISIONS, "logistic", 2)
    assert key_of(cell) != before
    assert key_of(cell)[:-1] == before[:-1]
