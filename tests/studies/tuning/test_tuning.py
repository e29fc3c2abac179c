"""Tuning: blind to test people, the same trials however it is run, and a command that runs them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score, roc_auc_score

from fairgear import SensitiveGraph
from fairgear.auditing import audit
from fairgear.datasets import FileOptions, GraphSource
from fairgear.errors import FileError, GraphError, ParameterError
from fairgear.graph import split, undirected_edges
from fairgear.methods import METHODS
from fairgear.runs.config import RunConfig
from fairgear.runs.overrides import parse_overrides
from fairgear.studies.judging.plan import Contestant
from fairgear.studies.pool import Outcome
from fairgear.studies.tuning import measure, search
from fairgear.studies.tuning.choice import Result, run_command
from fairgear.studies.tuning.measure import halves, judging_worlds, measured
from fairgear.studies.tuning.plan import TRIAL, Tuning, contestant
from tests.studies.judging import toy

PLAIN = Contestant.read(
    {
        "name": "plain",
        "entry": "logistic",
        "fixed": {"threshold": "validation"},
        "space": [
            {"name": "C", "low": 0.001, "high": 100.0, "log": True},
            {"name": "ranks", "choices": [True, False]},
        ],
        "dial": {"setting": "C", "values": [1.0]},
    }
)


def here(cells: Sequence[Any], run: Any, *_: Any, **__: Any) -> Iterator[tuple[Any, None]]:
    """In place of processes, which would not know the dataset; the last one ends first."""
    for cell in reversed(cells):
        yield Outcome(cell, run(cell)), None


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(search, "finished", here)
    measure._held.clear()
    yield
    measure._held.clear()


def tuning(trials: int = 3, **changes: Any) -> Tuning:
    return Tuning(GraphSource(dataset=toy.TINY), PLAIN, trials, device="cpu", **changes)


def figures(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what differs from run to run."""
    return [{key: row[key] for key in row if key != "seconds"} for row in rows]


def poisoned(graph: SensitiveGraph) -> SensitiveGraph:
    """The test people's features, labels, s and edges at random."""
    made = split(graph)
    rows, rng, n = made.test_mask.nonzero()[:, 0], np.random.default_rng(0), len(graph.x)
    x, y, sens = graph.x.clone(), graph.y.clone(), graph.sens.clone()
    raw = None if graph.raw is None else graph.raw.clone()
    y[rows] = torch.from_numpy(rng.integers(0, 2, len(rows)))
    sens[rows] = 1 - sens[rows]
    for of in filter(lambda one: one is not None, (x, raw)):
        assert of is not None
        of[rows] = torch.from_numpy(9 * rng.normal(size=(len(rows), of.shape[1]))).to(of)
        if graph.sens_column is not None:
            of[:, graph.sens_column] = sens.to(of)
    added = torch.stack([rows, torch.from_numpy(rng.integers(0, n, len(rows)))])
    ends = graph.edge_index
    kept = ends[:, ~made.test_mask[ends].any(dim=0)]
    edges = undirected_edges(torch.cat([kept, added[:, added[0] != added[1]]], dim=1), n)
    return graph.replace(x=x, y=y, sens=sens, raw=raw, edge_index=edges)


def told_apart(kind: str, folder: Path, patch: pytest.MonkeyPatch) -> bool:
    """Whether poison in the test people changes any figure."""
    found = []
    # Everybody has a label, so that the same people are drawn for the test.
    graph = toy.KINDS[kind]()
    graph = graph.replace(y=(graph.x[:, 0] > 0).long())
    for name, one in (("clean", graph), ("bad", poisoned(graph))):
        toy.register(patch, one)
        measure._held.clear()
        found.append(figures(search.carry_out(tuning(2), folder / name)))
    return found[0] != found[1]


@pytest.mark.parametrize("kind", ["table", "plain"])
@pytest.mark.usefixtures("one_process")
def test_test_people_change_no_trial(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not told_apart(kind, tmp_path, monkeypatch)


@pytest.mark.usefixtures("one_process")
def test_the_test_catches_a_search_that_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(graph: SensitiveGraph, seed: int) -> tuple[SensitiveGraph, SensitiveGraph]:
        """Broken: test people have no label, but are still there."""
        made = graph.replace(y=graph.y.masked_fill(graph.test_mask, -1))
        first = measure._half(made, graph.val_mask, seed)
        second = graph.val_mask & ~first
        return (
            made.replace(val_mask=first, test_mask=second),
            made.replace(val_mask=second, test_mask=first),
        )

    monkeypatch.setattr(measure, "halves", kept)
    assert told_apart("plain", tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", toy.KINDS)
def test_training_people_are_those_of_a_run_and_validation_people_judge_once(kind: str) -> None:
    graph = split(toy.KINDS[kind](), seed=3)
    first, second = halves(graph, 3)
    ids = graph.node_id
    for half in (first, second):
        assert set(half.node_id.tolist()) == set(ids[~graph.test_mask].tolist())
        trained = set(half.node_id[half.train_mask].tolist())
        assert trained == set(ids[graph.train_mask].tolist())
        outside = ~(half.train_mask | half.val_mask | half.test_mask)
        assert bool((half.y[outside] == -1).all())
    judges = [set(half.node_id[half.test_mask].tolist()) for half in (first, second)]
    assert judges[0] | judges[1] == set(ids[graph.val_mask].tolist())
    assert not judges[0] & judges[1]
    assert set(first.node_id[first.val_mask].tolist()) == judges[1]
    assert abs(len(judges[0]) - len(judges[1])) <= 2


@pytest.mark.usefixtures("one_process")
def test_figures_are_those_of_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    toy.register(monkeypatch, toy.table())
    one = tuning().trial(0, {"C": 0.5, "ranks": True})
    found = measured(one)
    utility, flips = [], []
    for worlds in judging_worlds(one.tuning):
        model = METHODS["logistic"](seed=0, threshold="validation", C=0.5, ranks=True)
        nobody: dict[str, Any] = {"affected_people": 0, "self_people": 0, "what_if_people": 0}
        result = audit(model.fit(worlds.graph), worlds, **nobody)
        people = result.people
        utility.append(roc_auc_score(people["y"], people["score"]))
        flips.append(result.metrics["delta_cf_max"])
    assert found["utility"] == pytest.approx(np.mean(utility))
    assert found["flips"] == pytest.approx(np.mean(flips))
    assert found["people"] == int(split(toy.table()).val_mask.sum())


@pytest.mark.usefixtures("one_process")
def test_numbers_are_searched_for_r2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = toy.plain()
    numbers = graph.replace(y=graph.x[:, 0].double() * 3 + graph.x[:, 1].double())
    toy.register(monkeypatch, numbers)
    one = tuning(1)
    rows = search.carry_out(one, tmp_path)
    assert {row["utility_name"] for row in rows} == {"r2_prediction"}
    expected = []
    for worlds in judging_worlds(one):
        judged = worlds.graph.test_mask
        model = METHODS["logistic"](seed=0).fit(worlds.graph)
        expected.append(r2_score(worlds.graph.y[judged], model.predict(worlds.graph, nodes=judged)))
    assert rows[0]["utility"] == pytest.approx(np.mean(expected))
    assert Result(one, rows, 0.01).page().utility == "R² of prediction"


@pytest.mark.usefixtures("one_process")
def test_an_interrupted_search_gives_the_same_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.register(monkeypatch, toy.table())
    # So that later rounds follow from earlier ones.
    monkeypatch.setattr(search, "STARTUP", 2)
    monkeypatch.setattr(search, "ROUND", 2)
    six, four = (tuning(trials, halves=1) for trials in (6, 4))
    whole = figures(search.carry_out(six, tmp_path / "whole"))
    assert [row["number"] for row in whole if row["kind"] == TRIAL] == list(range(6))
    calls: list[Any] = []

    def interrupted(candidate: Any) -> dict[str, Any]:
        calls.append(candidate)
        if len(calls) in (2, 7):
            raise KeyboardInterrupt
        return measured(candidate)

    monkeypatch.setattr(search, "measured", interrupted)
    out = tmp_path / "parts"
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            search.carry_out(six, out)
    assert figures(search.carry_out(six, out)) == whole
    count = len(calls)
    # Finished: nothing is done again, and fewer trials are a part of them.
    assert figures(search.carry_out(six, out, jobs=0)) == whole
    fewer = figures(search.carry_out(four, out))
    assert fewer == [row for row in whole if row["kind"] != TRIAL or row["number"] < 4]
    assert len(calls) == count


@pytest.mark.usefixtures("one_process")
def test_later_trials_follow_the_figures_of_earlier_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.register(monkeypatch, toy.table())
    monkeypatch.setattr(search, "STARTUP", 1)
    one = tuning(3)
    rows = [row for row in search.carry_out(one, tmp_path) if row["kind"] == TRIAL]
    monkeypatch.undo()
    monkeypatch.setattr("fairgear.studies.judging.sampler.STARTUP", 1)
    turned = [{**row, "utility": -row["utility"], "flips": -row["flips"]} for row in rows]
    made = [
        [search._trial(one, number, known).searched for number in range(3, 12)]
        for known in (rows * 4, rows * 4, turned * 4)
    ]
    assert made[0] == made[1]
    assert made[0] != made[2]


@pytest.mark.usefixtures("one_process")
def test_another_search_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.register(monkeypatch, toy.table())
    search.carry_out(tuning(1), tmp_path)
    with pytest.raises(FileError, match="trials of other data"):
        search.carry_out(tuning(1, halves=1), tmp_path)
    with pytest.raises(FileError, match="1 of 5 to be tried"):
        search.carry_out(tuning(2), tmp_path, jobs=0)


@pytest.mark.usefixtures("one_process")
def test_a_graph_that_cannot_be_trained_on_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = toy.plain()
    few = torch.where(torch.arange(len(graph.y)) == 0, 1, 0)
    toy.register(monkeypatch, graph.replace(y=few))
    with pytest.raises(GraphError):
        search.carry_out(tuning(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_wrong_settings_are_refused() -> None:
    for changes in ({"trials": 0}, {"halves": 3}):
        with pytest.raises(ParameterError):
            tuning(**changes)
    with pytest.raises(ParameterError, match=r"method to tune with judging\.yaml: got 'gin'"):
        contestant("gin")
    wrong = replace(PLAIN, fixed={"threshold": "sometimes"})
    with pytest.raises(ParameterError, match="recipe of plain"):
        Tuning(GraphSource(), wrong)


def test_the_spaces_are_those_of_judging() -> None:
    from fairgear.studies.judging.plan import Plan

    for one in Plan.read().methods.values():
        assert contestant(one.entry) == one


def row(kind: str, number: int, utility: float, flips: float, **settings: Any) -> dict[str, Any]:
    about = {"kind": kind, "number": number, "entry": "logistic", "people": 90}
    figures = {"utility": utility, "flips": flips, "utility_name": "auroc", "worst_model": "own"}
    return {**about, **figures, "settings": json.dumps(settings)}


def test_the_choice_and_the_front_leave_floors_aside() -> None:
    rows = [
        row("default", 0, 0.80, 0.10),
        {**row("floor", 0, 0.91, 0.01), "entry": "boosting"},
        row("trial", 0, 0.90, 0.20, C=1.0, ranks=True),
        row("trial", 1, 0.895, 0.12, C=0.1, ranks=True),
        row("trial", 2, 0.70, 0.11, C=0.01, ranks=True),
    ]
    found = Result(tuning(), rows, 0.01)
    assert [one["number"] for one in found.front] == [0, 1, 0]
    assert found.front[-1]["kind"] == "default"
    assert found.chosen["number"] == 1
    assert found.better_floors() == ["boosting"]
    assert Result(tuning(), rows, 0.001).chosen["number"] == 0
    assert Result(tuning(), rows, 1.0).chosen["kind"] == "default"


def test_the_command_is_the_run_of_the_candidate(tmp_path: Path) -> None:
    people = tmp_path / "the people.csv"
    people.write_text("id,x,sex,note,y\n" + "".join(f"{i},{i},{i % 2},n,1\n" for i in range(9)))
    options = FileOptions(label="y", sensitive="sex", similarity=0.7, drop=["note"], positive="1")
    source = GraphSource(str(people), data=options, split="released", seed=4).checked()
    one = Tuning(source, contestant("gear:encoder=mlp"), quick=True)
    best = one.trial(
        0,
        {
            "learning_rate": 0.0123456,
            "dropout": 0.2,
            "weight_decay": 1.23e-5,
            "fairness_weight": 3.33333,
        },
    )
    words = shlex.split(run_command(best))
    assert words[:3] == ["fairgear", "run", str(people)]
    assert words[words.index("--drop") + 1] == "note"
    overrides = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    settings = parse_overrides(overrides, "--set")
    assert settings == {
        "encoder": "mlp",
        "threshold": "validation",
        "learning_rate": 0.0123,
        "dropout": 0.2,
        "weight_decay": 1.23e-5,
        "fairness_weight": 3.33,
    }
    for flag, value in (("--split", "released"), ("--seed", "4"), ("--method", "gear")):
        assert words[words.index(flag) + 1] == value
    typed = RunConfig.from_dict(
        {**source.to_dict(), "method": "gear", "settings": settings, "quick": True}
    )
    assert typed.completed().settings == best.config.completed().settings
    default = run_command(one.references()[0])
    assert "--set encoder=mlp" in default
    assert "learning-rate" not in default
