"""Audits by a number: other causal models, doses, pages, files, and two models compared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, FolderAdapter, Worlds, export_worlds, family
from fairgear.causal import (
    MIXED,
    Columns,
    FeatureModel,
    assigned,
    credibility,
)
from fairgear.methods import METHODS
from fairgear.report import model_card, render_page
from fairgear.runs.predictions import write_predictions
from tests.auditing import ages as shared
from tests.auditing.ages import (
    LEVELS,
    SLOPES,
    Slope,
    ages,
    audited,
    bands,
    cleared,
    copies,
    everything,
    moved,
    whole_worlds,
)

graph, worlds, audit = shared.graph, shared.worlds, shared.audit


def test_a_dose_moves_features_by_a_part(graph: SensitiveGraph, worlds: Worlds) -> None:
    found = fg.audit(everything, worlds, affected_people=0, probes=False)
    assert found.dose is not None
    assert found.causal_models is not None
    rows, before = audited(graph).numpy(), everything(graph) > 0.5
    for point in found.dose.points:
        rates = []
        for drawn in whole_worlds(graph).values():
            each = []
            for sens in drawn:
                x = graph.x + point.share * (sens - graph.sens)[:, None] * SLOPES
                x[:, 0] = sens
                there = everything(graph.replace(x=x, sens=sens)) > 0.5
                each.append((there != before)[rows].mean())
            rates.append(np.mean(each))
        assert point.rate == pytest.approx(np.mean(rates))
    alone = next(row for row in found.causal_models.rows if row.model == "attribute only")
    assert alone.rate == pytest.approx(found.dose.points[0].rate)


def test_moved_people_are_credible_where_features_go_with_the_number() -> None:
    people = ages(1500)
    sens = assigned(people, MIXED)
    right = credibility(people, {0: moved(people, sens)})
    x = people.x.clone()
    x[:, 0] = sens
    still = credibility(people, {0: people.replace(x=x, sens=sens)})
    assert right.credible
    assert still.auroc > 0.65


def test_probes_find_out_who_reads_the_number(worlds: Worlds) -> None:
    def blind(graph: SensitiveGraph) -> NDArray[np.float64]:
        return torch.sigmoid(graph.x[:, 1]).numpy()

    read = [
        fg.audit(model, worlds, other_causal_models=False, affected_people=0).probes
        for model in (copies, blind)
    ]
    assert [one.sens for one in read if one is not None] == [True, False]


def test_the_page_says_what_it_is_about(audit: Audit, tmp_path: Path) -> None:
    audit.save(tmp_path)
    again = Audit.load(tmp_path)
    assert again.names == audit.names
    assert again.affected == audit.affected
    page, card = render_page(again), model_card(again)
    words = re.sub(r"\s+", " ", page)
    low = f"{audit.names.levels[0]:g}"
    for text in (
        "The ranges are fifths of the people in the graph, by their age",
        f"Everybody&#39;s age is {low}, which at least 5% of the people do not exceed.",
        f"everybody’s age {low}",
        "when everybody’s is set to the same value or mixed",
        f"age {audit.names.groups[0]}",
        "From range to range",
        "links within a range",
    ):
        assert text in words, text
    most = max(
        (row for row in audit.flips if row.intervention.startswith("quantile")),
        key=lambda row: row.rate,
    )
    value = audit.names.levels[LEVELS.index(float(most.intervention.split()[1]))]
    assert f"({most.intervention}: age {value:g})" in words
    assert "set to each of five of its quantiles" in card
    assert f"age {audit.names.groups[4]}" in card
    for text in ("group 0", "half and half", "to 0, to 1"):
        assert text not in page
        assert text not in card


def test_scores_that_return_from_elsewhere_give_the_same_audit(
    graph: SensitiveGraph, worlds: Worlds, audit: Audit, tmp_path: Path
) -> None:
    manifest = export_worlds(worlds, tmp_path, self_people=len(audit.people), format="npz")
    for entry in manifest.worlds:
        held = np.load(tmp_path / entry.path)
        world = graph.replace(
            x=torch.from_numpy(held["x"]),
            edge_index=torch.from_numpy(held["edge_index"]),
            sens=torch.from_numpy(held["sens"]),
        )
        place = (tmp_path / entry.scores).with_suffix(".npy")
        place.parent.mkdir(exist_ok=True)
        np.save(place, everything(world))
    assert {e.intervention for e in manifest.worlds} >= {f"quantile {p:g}" for p in LEVELS}
    found = fg.audit(FolderAdapter(tmp_path), worlds, other_causal_models=False)
    assert found.metrics == pytest.approx(audit.metrics, nan_ok=True)


def test_two_models_are_compared_by_range(worlds: Worlds, audit: Audit) -> None:
    other = fg.audit(cleared, worlds, other_causal_models=False, affected_people=0)
    found = {row.metric: row for row in audit.compare(other).rows}
    for name in ("accuracy", "f1", "auroc", "delta_dp", "delta_eo", "r2", "delta_cf"):
        row = found[name]
        assert row.first == pytest.approx(audit.metrics[name])
        assert row.second == pytest.approx(other.metrics[name])
        assert row.first - row.second in row.interval, name
    assert found["delta_cf"].better == "second"
    assert found["r2"].better == "second"


class Lines(FeatureModel):
    """Moves every column by its least-squares slope on the number."""

    name = "lines"
    how = "along straight lines"

    def fit(
        self,
        table: NDArray[np.float64],
        sens: NDArray[Any],
        columns: Columns,
        people: NDArray[np.bool_] | None = None,
    ) -> Lines:
        among = np.ones(len(sens), dtype=bool) if people is None else people
        centred = sens[among] - sens[among].mean()
        self.slopes = centred @ table[among] / (centred @ centred)
        self._columns = columns
        return self

    def moved(
        self,
        table: NDArray[np.float64],
        before: NDArray[Any],
        after: NDArray[Any],
        node_id: Tensor,
        *,
        seed: int,
    ) -> NDArray[np.float64]:
        found: NDArray[np.float64] = table + (after - before)[:, None] * self.slopes
        found[:, 0] = after
        return found

    def _learn(self, table: Any, cells: Any) -> dict[str, NDArray[Any]]:
        raise NotImplementedError

    def _rows(self, old: Any, before: Any, after: Any, noise: Any) -> NDArray[np.float64]:
        raise NotImplementedError


def test_the_family_asks_other_feature_models(
    graph: SensitiveGraph, worlds: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(family, "FEATURE_MODELS", {"lines": Lines})
    monkeypatch.setattr(family, "feature_model", lambda name: Lines())
    mine = Worlds(graph, Slope().fit(graph))
    found = fg.audit(everything, mine, affected_people=0, probes=False).causal_models
    assert found is not None
    rows = {row.model: row for row in found.rows}
    learners = ~(graph.train_mask | graph.val_mask)
    assert mine.people is None or torch.equal(mine.people, learners)
    learners = torch.ones_like(learners) if mine.people is None else learners
    years = graph.sens[learners] - graph.sens[learners].mean()
    slopes = years @ graph.x[learners] / (years @ years)
    before, rates = everything(graph) > 0.5, []
    for drawn in whole_worlds(graph).values():
        each = []
        for sens in drawn:
            x = graph.x + (sens - graph.sens)[:, None] * slopes
            x[:, 0] = sens
            there = everything(graph.replace(x=x, sens=sens)) > 0.5
            each.append((there != before)[audited(graph).numpy()].mean())
        rates.append(np.mean(each))
    assert rows["lines"].rate == pytest.approx(np.mean(rates))
    assert 0 < found.rows[1].credibility.unsteadiness < 1  # type: ignore[union-attr]
    assert {row.model for row in found.rows} == {"own", "lines", "attribute only"}


def test_predictions_have_everybodys_range(graph: SensitiveGraph, tmp_path: Path) -> None:
    model = METHODS["logistic"]().fit(graph)
    found = fg.audit(model, Worlds(graph, Slope()), other_causal_models=False, affected_people=0)
    write_predictions(tmp_path / "people.parquet", model, graph, found)
    table = pd.read_parquet(tmp_path / "people.parquet")
    assert np.array_equal(table["node_id"], graph.node_id)
    assert np.array_equal(table["sens"], graph.sens)
    assert np.array_equal(table["band"], bands(graph))
    measured = table.set_index("node_id").loc[found.people["node_id"]]
    assert np.array_equal(measured["other_sens"], found.people["other_sens"])


def test_a_model_is_asked_as_often_as_the_page_says(worlds: Worlds) -> None:
    asked = []

    def constant(graph: SensitiveGraph) -> NDArray[np.float64]:
        asked.append(graph)
        return np.full(len(graph.x), 0.7)

    fg.audit(constant, worlds, self_people=0, other_causal_models=False)
    assert len(asked) == 19
