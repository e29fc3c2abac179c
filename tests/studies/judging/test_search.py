"""The search: deterministic, resumable, and blind to sealed people."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import roc_auc_score

from fairgear.auditing import audit
from fairgear.errors import FileError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.studies.judging import search as module
from fairgear.studies.judging.sealed import sealed
from fairgear.studies.judging.search import (
    COLUMNS,
    Search,
    best,
    choices,
    run_search,
    suggested,
)
from fairgear.studies.records import Rows
from tests.studies.judging import toy


def trials(path: Path, plan: Any = None, method: str = "plain") -> list[dict[str, Any]]:
    """The rows of a search, without what differs from run to run."""
    run_search(Search(plan or toy.toy_plan(), toy.TINY, method), path, device="cpu")
    rows = Rows(path, COLUMNS).all()
    return [{key: row[key] for key in row if key not in ("seconds", "commit")} for row in rows]


def told_apart(patch: pytest.MonkeyPatch, folder: Path, graph: SensitiveGraph) -> bool:
    """Whether poison in the sealed people changes any trial."""
    found = []
    for name, one in (("clean", graph), ("bad", toy.poisoned(graph))):
        toy.register(patch, one)
        module._held.clear()
        found.append(trials(folder / f"{name}.csv", toy.toy_plan(trials=3)))
    return found[0] != found[1]


@pytest.mark.parametrize("kind", toy.KINDS)
def test_poisoned_sealed_people_change_no_trial(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not told_apart(monkeypatch, tmp_path, toy.KINDS[kind]())


def unmasked(graph: SensitiveGraph) -> SensitiveGraph:
    """Broken: sealed people have no label, but are still there."""
    return graph.replace(y=graph.y.masked_fill(sealed(graph), -1))


def everybody(graph: SensitiveGraph) -> SensitiveGraph:
    """Broken: nobody is sealed."""
    return graph


@pytest.mark.parametrize("broken", [unmasked, everybody])
def test_the_test_catches_a_search_that_reads_them(
    broken: Callable[[SensitiveGraph], SensitiveGraph],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "open_graph", broken)
    assert told_apart(monkeypatch, tmp_path, toy.plain())


def test_an_interrupted_search_gives_the_same_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.register(monkeypatch, toy.table())
    # So that later trials follow from earlier ones.
    monkeypatch.setattr(module, "_STARTUP", 2)
    plan = toy.toy_plan(trials=6)
    whole = trials(tmp_path / "whole.csv", plan)
    assert len({row["settings"] for row in whole}) == 6
    real, calls = module.score, []

    def interrupted(*given: Any) -> dict[str, Any]:
        calls.append(given)
        if len(calls) in (2, 5):
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(module, "score", interrupted)
    path = tmp_path / "parts.csv"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            trials(path, plan)
    assert 0 < len(Rows(path, COLUMNS)) < 6
    assert trials(path, plan) == whole
    # Finished: nothing is done again.
    count = len(calls)
    assert trials(path, plan) == whole
    assert len(calls) == count


@pytest.mark.usefixtures("tiny")
def test_later_trials_follow_the_scores_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STARTUP", 1)
    search = Search(toy.toy_plan(), toy.TINY, "plain")
    rows = trials(tmp_path / "rows.csv")[:3]
    turned = [{**row, "score": -row["score"]} for row in rows]
    assert suggested(search, rows) == suggested(search, rows)
    assert suggested(search, rows) != suggested(search, turned)
    other = Search(toy.toy_plan(seed=1), toy.TINY, "plain")
    assert suggested(search, []) != suggested(other, [])
    assert suggested(search, []) != suggested(Search(search.plan, toy.TINY, "residual"), [])


@pytest.mark.usefixtures("tiny")
def test_rows_say_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = trials(path)
    assert [row["trial"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        assert row["score"] == row["auroc"] - row["worst"]
        assert set(json.loads(row["settings"])) == {"C", "ranks"}
    assert rows == trials(path)
    chosen = best(rows)
    assert chosen == json.loads(max(rows, key=lambda row: row["score"])["settings"])
    plan = toy.toy_plan()
    with pytest.raises(FileError, match="0 of 4 trials of tiny, residual"):
        choices(plan, path)
    trials(path, method="residual")
    assert choices(plan, path)[toy.TINY, "plain"].chosen == chosen
    with pytest.raises(FileError, match="no such file"):
        choices(plan, tmp_path / "none.csv")


@pytest.mark.usefixtures("tiny")
def test_a_time_limit_leaves_whole_trials_and_another_recipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    search = Search(toy.toy_plan(), toy.TINY, "plain")
    assert run_search(search, path, device="cpu", until=time.time() - 1) == {"trials": 0}
    assert not path.exists()
    trials(path, toy.toy_plan(trials=1))
    assert search.missing(Rows(path, COLUMNS)) == 3
    with pytest.raises(ParameterError, match="by another recipe"):
        trials(path, toy.toy_plan(search_draws=2))


@pytest.mark.usefixtures("tiny")
def test_rows_of_another_machine_are_added(tmp_path: Path) -> None:
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    trials(here)
    trials(there, method="residual")
    rows = Rows(here, COLUMNS)
    rows.add_file(there)
    assert len(Rows(here, COLUMNS)) == 8
    with pytest.raises(FileError, match="no such file"):
        rows.add_file(tmp_path / "none.csv")


@pytest.mark.usefixtures("tiny")
def test_scores_are_those_of_an_audit() -> None:
    """AUROC and the largest δCF, by the audit itself and scikit-learn."""
    search = Search(toy.toy_plan(), toy.TINY, "plain")
    settings = {"C": 0.5, "ranks": True}
    found = module.score(search, settings, "cpu")
    (worlds,) = module.inner_worlds(search.plan, toy.TINY)
    model = search.contestant.build(settings, 0, "cpu").fit(worlds.graph)
    nobody: dict[str, Any] = {"affected_people": 0, "self_people": 0, "what_if_people": 0}
    result = audit(model, worlds, probes=False, **nobody)
    people = result.people
    assert found["auroc"] == pytest.approx(roc_auc_score(people["y"], people["score"]))
    assert result.causal_models is not None
    rates = [row.rate for row in result.causal_models.rows if not row.part and not row.error]
    assert found["worst"] == pytest.approx(max(rates))
