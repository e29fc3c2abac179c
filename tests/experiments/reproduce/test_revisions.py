"""Whoever changes what a method does by default must say so: rows of before are not its rows."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

import pytest

from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.reproduce import revisions
from fairgear.experiments.reproduce.recipe import NAMES, recipe
from fairgear.experiments.reproduce.records import key_of
from fairgear.experiments.reproduce.revisions import REVISIONS, revision
from fairgear.methods import METHODS, GearConfig
from fairgear.methods.gear_config import Regime
from tests.experiments.reproduce.toy import toy_study

# Entry to its revision and the digest of its settings at that revision.
KEPT = {
    "gear": (5, "6ac7f8f8cf2c589f"),
    "gear:preset=paper": (1, "6b1100accba668f5"),
    "gcn": (1, "f78b10d3ee90ad51"),
    "graphsage": (1, "f78b10d3ee90ad51"),
    "gin": (1, "f78b10d3ee90ad51"),
    "c-enc": (1, "7395ebfb20b8276c"),
    "fairgnn": (1, "6e332c2f12d3d68a"),
    "nifty-gcn": (1, "3e097ec71c8c702f"),
    "nifty-sage": (1, "3e097ec71c8c702f"),
    "logistic": (1, "76d467e66a8bc359"),
    "logistic-unaware": (1, "76d467e66a8bc359"),
    "logistic-residual": (1, "76d467e66a8bc359"),
    "logistic-projected": (1, "76d467e66a8bc359"),
    "boosting": (1, "2452bbd3ef18e083"),
}


def digest(text: str) -> str:
    """Of all settings that the entry runs with, whoever has set them."""
    entry = Entry.of(text)
    made: Any = METHODS[entry.method](**entry.run("synthetic", 0, "released").method_settings())
    used: list[Any] = [made.config.to_dict()]
    if isinstance(made.config, GearConfig):
        # What is left open is settled by the number of labels: that of each dataset.
        effective = made.config.effective()
        used += [asdict(way) for labels in (100, 1000, 6000) for way in effective.regimes(labels)]
    canonical = json.dumps(used, sort_keys=True, separators=(",", ":"))
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


def test_ways_to_train_are_part_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest("gear")
    monkeypatch.setattr(Regime, "many", Regime.held_back)
    assert digest("gear") != before


def test_what_measures_is_part_of_the_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    before = revision(Entry.of("logistic"))
    monkeypatch.setattr(revisions, "EVALUATION", 3)
    assert revision(Entry.of("logistic")) == before + 3


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
