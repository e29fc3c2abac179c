"""Entries of a comparison: methods with settings, and the worlds that their runs share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.auditing import Worlds
from fairgear.errors import FairgearError
from fairgear.experiments.compare import Plan, execute_comparison
from fairgear.experiments.compare_entry import Entry
from fairgear.metrics import METRICS
from fairgear.runs import RunFolder, execution, run


def test_settings_of_an_entry() -> None:
    plain = Entry.of("logistic")
    assert (plain.label, plain.method, plain.settings) == ("logistic", "logistic", {})
    wide = Entry.of("gcn:dim=8,use-sens=false")
    assert wide.run("bail", 3, "released").to_dict() | {"device": None} == {
        "dataset": "bail",
        "method": "gcn",
        "split": "released",
        "seed": 3,
        "graph_seed": 0,
        "self_people": 500,
        "affected_people": 0,
        "other_causal_models": False,
        "device": None,
        "settings": {"dim": 8, "use_sens": False},
    }
    gear = Entry.of("gear:erase=0,preset=paper").run("synthetic", 0, "released")
    assert (gear.gear.erase, gear.gear.dim, gear.preset) == (0, 1024, "paper")
    for nothing in ("null", "none", "None"):
        entry = Entry.of(f"gear:erase={nothing}")
        assert entry.run("synthetic", 0, "released").gear.erase is None
    assert Entry.of("gcn:weight-decay=1e-5").settings == {"weight_decay": 1e-5}


def test_every_entry_has_a_folder_of_its_own() -> None:
    labels = ("gear", "gear:erase=0", "gear:erase=0.5", "gear:erase=0,dim=8")
    folders = {Entry.of(label).folder("bail", 1) for label in labels}
    assert len(folders) == len(labels)
    assert "bail-gear-1" in folders
    assert not any(set(folder) & set("/:, ") for folder in folders)


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
        ("gear:micro_batches=99", "micro_batches: got 99"),
        ("gcn:depth=3", "unknown key 'depth'"),
        ("gcn:dim=wide", "setting dim: got 'wide'"),
        ("gear:erase=2", "setting erase: got 2; allowed: a number from 0 to 1 or none"),
        ("gear:preset=other", "setting preset"),
    ],
)
def test_a_wrong_entry_is_refused_before_any_work(text: str, message: str) -> None:
    with pytest.raises(FairgearError, match=message):
        Plan.of(["synthetic"], ["logistic", text], 1, "released")


def test_runs_on_one_graph_share_their_worlds_and_give_what_they_give_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted(graph: Any, **settings: Any) -> Any:
        made.append(settings["seed"])
        return Worlds(graph, **settings)

    monkeypatch.setattr(execution, "Worlds", counted)
    names = ["logistic", "logistic:C=0.1", "logistic-projected"]
    plan = Plan.of(["synthetic"], names, 2, "released")
    found = execute_comparison(plan, tmp_path / "together")
    assert made == [0, 1]
    assert list(found.method) == names * 2
    cell = plan.runs()[4]
    alone = run(cell.config, RunFolder(tmp_path / "alone"))
    row = found.iloc[4]
    pd.testing.assert_series_equal(
        row[list(METRICS)].astype(float), pd.Series(alone.metrics), check_names=False
    )
