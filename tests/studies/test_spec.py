"""Entries, cells and seeds: what is run, under which names, and in which order."""

from __future__ import annotations

import pytest

from fairgear.datasets.source import GraphSource
from fairgear.errors import FairgearError, ParameterError
from fairgear.methods import METHODS
from fairgear.studies.spec import Cell, Entry, Study, parse_seeds
from tests.studies.toy import toy_study

BAIL = GraphSource("bail", split="released")


def test_settings_of_an_entry() -> None:
    plain = Entry.parse("logistic")
    assert (plain.label, plain.method, plain.settings) == ("logistic", "logistic", {})
    wide = Entry.parse("gcn:dim=8,use-sens=false")
    assert wide.config(BAIL, 3).to_dict() | {"device": None} == {
        "dataset": "bail",
        "method": "gcn",
        "split": "released",
        "seed": 3,
        "graph_seed": 0,
        "self_people": 500,
        "affected_people": 0,
        "what_if_people": 0,
        "other_causal_models": False,
        "protocol": "strict",
        "device": None,
        "quick": False,
        "settings": {**METHODS["gcn"].config_type().to_dict(), "dim": 8, "use_sens": False},
    }
    gear = Entry.parse("gear-paper:k=10,generator.steps=7").config(GraphSource(), 0)
    assert (gear.settings["k"], gear.settings["dim"]) == (10, 1024)
    assert gear.settings["generator"]["steps"] == 7
    for nothing in ("null", "none", "None"):
        entry = Entry.parse(f"gear-paper:epochs={nothing}")
        assert entry.config(GraphSource(), 0).settings["epochs"] is None
    assert Entry.parse("gcn:weight-decay=1e-5").settings == {"weight_decay": 1e-5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nosuch:dim=8", "nosuch"),
        ("gcn:", "method 'gcn:': got ''; allowed: NAME=VALUE"),
        ("gcn:dim", "method 'gcn:dim': got 'dim'"),
        ("gcn:dim=", "method 'gcn:dim=': got 'dim='"),
        ("gcn:dim=8,dim=16", "got 'dim=16'; allowed: NAME=VALUE, such as layers=2, each name once"),
        ("gcn:seed=3", "settings of gcn: got 'seed'"),
        ("gcn:device=cpu", "settings of gcn: got 'device'"),
        ("gear-paper:micro_batches=99", "micro_batches: got 99"),
        ("gcn:depth=3", "unknown key 'depth'"),
        ("gcn:dim=wide", "setting dim: got 'wide'"),
        ("gear-paper:epochs=0", "setting epochs: got 0; allowed: a whole number from 1 to 10"),
        ("gear-paper:preset=paper", "unknown key 'preset'"),
    ],
)
def test_a_wrong_entry_is_refused_before_any_work(text: str, message: str) -> None:
    with pytest.raises(FairgearError, match=message):
        Entry.parse(text)


def test_every_cell_has_a_folder_of_its_own() -> None:
    labels = ("gear", "gear:dropout=0", "gear:dropout=0.5", "gear:dropout=0,dim=8")
    entries = [Entry.parse(label) for label in labels]
    names = {Cell(entry, entry.config(BAIL, 1)).name for entry in entries}
    assert len(names) == len(labels)
    assert "bail-gear-1" in names
    own = Cell(entries[0], entries[0].config(GraphSource("data/my people.csv"), 2))
    assert own.name == "data-my-people.csv-gear-2"
    assert not any(set(name) & set("/:, ") for name in names)


def test_a_cell_of_two_tables_is_run_once_and_one_seed_comes_before_the_next() -> None:
    other = GraphSource("bail", split="released")
    mixed = [Cell(cell.entry, cell.entry.config(other, 1)) for cell in toy_study((0,)).cells]
    cells = [*toy_study((1, 0)).cells, *mixed]
    study = Study({"one": cells, "two": cells[::-1]})
    assert [(cell.config.seed, cell.config.dataset) for cell in study.cells] == [
        (1, "synthetic"),
        (1, "synthetic"),
        (1, "bail"),
        (1, "bail"),
        (0, "synthetic"),
        (0, "synthetic"),
    ]


def test_seeds_are_a_number_or_a_range() -> None:
    assert parse_seeds("3") == (0, 1, 2)
    assert parse_seeds("10-12") == (10, 11, 12)
    assert parse_seeds("7-7") == (7,)
    assert parse_seeds("0-1") == (0, 1)
    for wrong in ("", "-", "3-", "-3", "1.5", "1-2-3", "1,2", " ", "0", "5-3", "1-99999999999999"):
        with pytest.raises(ParameterError, match="--seeds"):
            parse_seeds(wrong)
