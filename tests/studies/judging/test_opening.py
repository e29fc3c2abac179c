"""The opening: what it refuses, what its rows say, and the tables that are made of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fairgear.auditing import audit
from fairgear.errors import FileError, ParameterError
from fairgear.studies.judging import opening
from fairgear.studies.judging.opening import (
    COLUMNS,
    Sources,
    clean_commit,
    open_sealed,
    openings,
    run_opening,
)
from fairgear.studies.judging.plan import ACCURATE, CHOSEN, Plan
from fairgear.studies.judging.search import COLUMNS as SEARCHED
from fairgear.studies.judging.search import Search, choices, run_search
from fairgear.studies.judging.tables import opened_rows, write_tables
from fairgear.studies.records import Rows
from tests.studies.judging import toy

COMMIT = "1234567"
BOUNDS = [
    {"dataset": toy.TINY, "method": "plain", "figure": "auroc", "at_least": 0.1},
    {"dataset": toy.TINY, "method": "plain", "figure": "worst", "at_most": {"method": "residual"}},
    {
        "dataset": toy.TINY,
        "method": "plain",
        "figure": "auroc",
        "at_least": {"method": "residual", "point": ACCURATE},
    },
    {"dataset": "elsewhere", "method": "plain", "figure": "any", "at_most": 0.1},
]


class Study:
    """A finished search of the toy plan, and bounds."""

    def __init__(self, folder: Path) -> None:
        self.plan: Plan = toy.toy_plan(trials=2)
        self.search, self.rows = folder / "search.csv", folder / "opened.csv"
        self.bounds = folder / "bounds.yaml"
        self.bounds.write_text(yaml.safe_dump({"bounds": BOUNDS}), encoding="utf-8")
        for method in self.plan.methods:
            run_search(Search(self.plan, toy.TINY, method), self.search, device="cpu")

    def sources(self) -> Sources:
        return Sources.of(self.bounds)

    def open(self) -> list[dict[str, Any]]:
        """All fits, in this process."""
        for one in openings(self.plan, self.search, self.bounds):
            run_opening(one, self.rows, self.sources(), "cpu")
        return Rows(self.rows, COLUMNS).all()


@pytest.fixture
def study(tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(opening, "source_commit", lambda: COMMIT)
    return Study(tmp_path)


def test_rows_carry_commit_hashes_and_figures(study: Study) -> None:
    rows = study.open()
    # Every seed for what was chosen and what bounds name, one for the rest of the curves.
    expected = {(method, CHOSEN, seed) for method in study.plan.methods for seed in (0, 1)}
    expected |= {
        (method, point, 1)
        for method in study.plan.methods
        for point in (ACCURATE, "C=0.001", "C=1")
    }
    expected.add(("residual", ACCURATE, 0))
    found = [(row["method"], row["point"], row["seed"]) for row in rows]
    assert set(found) == expected
    trials = Rows(study.search, SEARCHED).all()
    for row in rows:
        if row["point"] in (CHOSEN, ACCURATE):
            own = [one for one in trials if one["method"] == row["method"]]
            figure = "score" if row["point"] == CHOSEN else "auroc"
            best = max(own, key=lambda one: one[figure])
            assert json.loads(row["settings"]) == json.loads(best["settings"])
    hashes = {name: of.sha256 for (_, name), of in choices(study.plan, study.search).items()}
    assert len(set(hashes.values())) == 2
    for row in rows:
        assert (row["commit"], row["opened"]) == (COMMIT, "true")
        assert row["bounds_sha256"] == hashlib.sha256(study.bounds.read_bytes()).hexdigest()
        assert row["search_sha256"] == hashes[row["method"]]
        models = json.loads(row["models"])
        rates = {name: one[0] for name, one in models.items()}
        assert row["worst"] == max(rates.values()) == rates[row["worst_model"]]
        assert row["own"] == rates["own"]
        assert row["any"] >= row["worst"]
        trained = [one[0] for one in models.values() if one[1]]
        held = [one[0] for one in models.values() if not one[1]]
        assert row["held_out_worst"] == max(held)
        # The residuals were made for the shift, which is the own model; the plain one for none.
        assert bool(trained) == (row["method"] == "residual")
        if trained:
            assert row["trained_worst"] == max(trained)
            assert next(name for name, one in models.items() if one[1]) == "own"


def test_a_row_is_an_audit_of_the_sealed_people(study: Study) -> None:
    row = next(row for row in study.open() if row["method"] == "plain" and row["seed"] == 0)
    worlds = opening.judged_worlds(study.plan, toy.TINY, row["seed"], rehearsal=False)
    model = study.plan.methods["plain"].build(json.loads(row["settings"]), row["seed"], "cpu")
    nobody: dict[str, Any] = {"affected_people": 0, "self_people": 0, "what_if_people": 0}
    found = audit(model.fit(worlds.graph), worlds, probes=False, **nobody)
    for name in ("auroc", "accuracy", "f1", "r2", "delta_dp", "delta_eo"):
        assert row[name] == pytest.approx(found.metrics[name])
        assert json.loads(row["intervals"])[name] == pytest.approx(list(found.intervals[name]))
    assert found.causal_models is not None
    expected = {one.model: one.rate for one in found.causal_models.rows if not one.part}
    assert {name: one[0] for name, one in json.loads(row["models"]).items()} == pytest.approx(
        {name: rate for name, rate in expected.items() if rate == rate}
    )


def test_rows_of_another_commit_bounds_or_search_are_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.open()

    def refused(what: str) -> None:
        with pytest.raises(ParameterError, match=f"rows with the {what}.*name a new file"):
            open_sealed(study.plan, study.search, study.rows, bounds=study.bounds, jobs=0)

    assert len(open_sealed(study.plan, study.search, study.rows, bounds=study.bounds)) == 11
    text = study.bounds.read_text(encoding="utf-8")
    study.bounds.write_text(text.replace("0.1", "0.2"), encoding="utf-8")
    refused("bounds_sha256")
    study.bounds.write_text(text, encoding="utf-8")
    trials = study.search.read_text(encoding="utf-8")
    first = Rows(study.search, SEARCHED).all()[0]
    study.search.write_text(trials.replace(str(first["auroc"]), "0.123", 1), encoding="utf-8")
    refused("search_sha256")
    # Trials of a method that is not asked for now may be others.
    only = replace(study.plan, methods={"residual": study.plan.methods["residual"]})
    assert open_sealed(only, study.search, study.rows, bounds=study.bounds, jobs=0)
    study.search.write_text(trials, encoding="utf-8")
    monkeypatch.setattr(opening, "source_commit", lambda: "7654321")
    refused("commit")
    # A new file is another opening.
    other = study.rows.with_name("second.csv")
    assert len(open_sealed(study.plan, study.search, other, bounds=study.bounds, jobs=0)) == 0


def without_trials(study: Study) -> None:
    lines = study.search.read_text(encoding="utf-8").splitlines(keepends=True)
    study.search.write_text("".join(lines[:-1]), encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda study: study.search.unlink(), "search rows .*no such file"),
        (lambda study: study.bounds.unlink(), "bounds .*no such file"),
        (without_trials, "1 of 2 trials of tiny, residual"),
    ],
)
def test_nothing_is_opened_without_bounds_and_all_trials(
    spoil: Callable[[Study], None], words: str, study: Study
) -> None:
    spoil(study)
    with pytest.raises(FileError, match=words):
        open_sealed(study.plan, study.search, study.rows, bounds=study.bounds)
    assert not study.rows.exists()


def test_nothing_is_opened_with_changes(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    for commit, words in (("1234567*", "not committed"), ("", "commit is not known")):
        monkeypatch.setattr(opening, "source_commit", lambda commit=commit: commit)
        with pytest.raises(ParameterError, match=words):
            open_sealed(study.plan, study.search, study.rows, bounds=study.bounds)
    monkeypatch.setattr(opening, "source_commit", lambda: COMMIT)
    assert clean_commit() == COMMIT


def test_tables_verdicts_and_curves(study: Study, tmp_path: Path) -> None:
    study.open()
    out = tmp_path / "out"
    judged = write_tables(study.plan, study.rows, out, bounds=study.bounds)
    verdicts = pd.read_csv(out / "verdicts.csv")
    assert verdicts["bound"].tolist() == [
        "auroc ≥ 0.1",
        "worst ≤ residual",
        "auroc ≥ residual, most accurate",
    ]
    assert verdicts["verdict"][0] == "met"
    assert judged.page.read_text(encoding="utf-8").startswith("# Toy")
    page = judged.page.read_text(encoding="utf-8")
    for words in (
        "| *plain* |",
        f"commit {COMMIT}",
        "**met**",
        "worst δCF, most accurate",
        "δCF by causal model",
    ):
        assert words in page
    assert (out / f"tradeoff-{toy.TINY}.svg").exists()
    table = pd.read_csv(out / "judged.csv")
    rows = opened_rows(study.rows)
    for (method, point), part in rows.groupby(["method", "point"]):
        chosen = (table["method"] == method) & (table["point"] == point)
        mean = table[chosen & (table["figure"] == "auroc")]["mean"].item()
        assert mean == pytest.approx(part["auroc"].mean())
    assert (table["low"].isna() | (table["low"] <= table["mean"])).all()


@pytest.mark.parametrize("kind", toy.KINDS)
def test_a_rehearsal_reads_no_sealed_people(
    kind: str, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = toy.KINDS[kind]()
    monkeypatch.setattr(opening, "source_commit", lambda: "1234567*")
    one = openings(study.plan, study.search, study.bounds)[0]
    found = []
    for number, given in enumerate((graph, toy.poisoned(graph))):
        toy.register(monkeypatch, given)
        opening._held.clear()
        sources = Sources.of(study.bounds, rehearsal=True)
        row = run_opening(one, study.rows.with_name(f"{number}.csv"), sources, "cpu")
        assert (row["opened"], row["commit"]) == ("false", "1234567*")
        found.append({key: row[key] for key in row if key != "seconds"})
    assert found[0] == found[1]
    # Its rows are never taken for those of sealed people.
    real = Sources(COMMIT, sources.bounds_sha256)
    with pytest.raises(ParameterError, match="rows with the commit"):
        real.check(Rows(study.rows.with_name("0.csv"), COLUMNS))


def test_tables_need_rows_of_one_opening_and_its_bounds(study: Study, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="open the sealed people first"):
        write_tables(study.plan, study.rows, tmp_path, bounds=study.bounds)
    study.open()
    with pytest.raises(FileError, match="another file than the rows were opened with"):
        write_tables(study.plan, study.rows, tmp_path)
    frame = pd.read_csv(study.rows)
    frame.loc[0, "commit"] = 7654321
    frame.to_csv(study.rows, index=False)
    with pytest.raises(FileError, match="more than one commit"):
        opened_rows(study.rows)
