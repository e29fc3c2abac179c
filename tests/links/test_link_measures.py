"""Measures of predicted links, against scikit-learn, scipy and by hand."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from fairgear.graph import closed_neighborhood_mean
from fairgear.links import LinkAudit, LinkSplit, audit_links, split_links
from fairgear.links.cells import PairGroups
from fairgear.links.measures import surroundings_of
from fairgear.links.references import common_neighbours
from fairgear.testing import toy_graph
from tests.links.models import alike, everything, features


@pytest.fixture(scope="module", params=["undirected", "directed"])
def split(request: pytest.FixtureRequest) -> LinkSplit:
    return split_links(toy_graph(sens="categorical", links=request.param), seed=2)


@pytest.fixture(scope="module")
def audit(split: LinkSplit) -> LinkAudit:
    return audit_links(features, split, draws=1, self_pairs=2, list_people=0, threshold=0.6)


def test_ranks_and_accuracy(audit: LinkAudit) -> None:
    table, found = audit.pairs, audit.metrics
    assert found["auroc"] == pytest.approx(roc_auc_score(table["linked"], table["score"]))
    assert found["accuracy"] == (table["linked"] == (table["score"] > 0.6)).mean()
    negative = table.loc[table["linked"] == 0, "score"].nlargest(10).iloc[-1]
    hits = (table.loc[table["linked"] == 1, "score"] > negative).mean()
    assert found["hits_at_k"] == pytest.approx(hits)


def test_cells_are_counted(audit: LinkAudit) -> None:
    table, directed = audit.pairs, audit.setup.directed
    ends = table[["group_source", "group_target"]].to_numpy()
    cells = ends if directed else np.sort(ends, axis=1)
    assert len(audit.cells) == 2 + len(np.unique(cells, axis=0))
    assert (len(audit.cells) == 11) is directed
    for cell in audit.cells:
        if cell.first is None:
            among = (ends[:, 0] == ends[:, 1]) == (cell.name == "same")
        else:
            among = (cells == [cell.first, cell.second]).all(axis=1)
        linked = among & (table["linked"] == 1).to_numpy()
        assert (cell.pairs, cell.linked) == (among.sum(), linked.sum())
        assert cell.rate == pytest.approx(table.loc[among, "label"].mean())
        if linked.any():
            assert cell.rate_linked == pytest.approx(table.loc[linked, "label"].mean())
        else:
            assert math.isnan(cell.rate_linked)
        flips = table.loc[among, "flip_average_over_rates"].mean()
        assert cell.delta_cf == pytest.approx(flips)
        assert cell.interval.low <= cell.rate <= cell.interval.high


def test_gaps_are_those_of_the_cells(audit: LinkAudit) -> None:
    same, different, *cells = audit.cells
    found = audit.metrics
    assert found["gap_same_different"] == pytest.approx(abs(same.rate - different.rate))
    linked = abs(same.rate_linked - different.rate_linked)
    assert found["gap_same_different_linked"] == pytest.approx(linked)
    largest = max(abs(a.rate - b.rate) for a, b in combinations(cells, 2))
    assert found["gap_cells"] == pytest.approx(largest)
    true = [cell.rate_linked for cell in cells if cell.linked]
    assert found["gap_cells_linked"] == pytest.approx(max(true) - min(true))
    for key in (key for key in found if key.startswith("gap")):
        assert audit.intervals[key].low <= found[key] <= audit.intervals[key].high


def test_dependence_on_the_surroundings(audit: LinkAudit, split: LinkSplit) -> None:
    """Shares of each group but the first around both ends: their mean and their distance."""
    seen, row_of = split.input, {node: i for i, node in enumerate(split.graph.node_id.tolist())}
    ends = [[row_of[int(node)] for node in audit.pairs[side]] for side in ("source", "target")]
    around = np.stack(
        [
            closed_neighborhood_mean((seen.sens == group).double(), seen.edge_index).numpy()
            for group in (1, 2)
        ],
        axis=1,
    )
    first, second = (around[rows] for rows in ends)
    summary = np.hstack([(first + second) / 2, np.abs(first - second)])
    np.testing.assert_allclose(surroundings_of(seen, torch.tensor(ends)), summary, atol=1e-12)
    y = audit.pairs["label"].to_numpy()
    expected = LinearRegression().fit(summary, y).score(summary, y)
    assert audit.metrics["r2"] == pytest.approx(expected, abs=1e-9)
    assert audit.intervals["r2"].low <= expected <= audit.intervals["r2"].high


def test_of_a_number_groups_are_its_ranges() -> None:
    split = split_links(toy_graph(sens="continuous"))
    found = audit_links(everything, split, draws=1, self_pairs=3, list_people=10, threshold=0.5)
    assert {cell.first for cell in found.cells[2:]} <= set(range(5))
    assert found.names.number == "age"
    groups = PairGroups.of(split.graph, split.test.ends.numpy())
    assert found.cells[0].pairs == int((groups.different == 0).sum())
    assert 0 <= found.metrics["delta_cf"] <= 1


@pytest.mark.parametrize("links", ["undirected", "directed"])
def test_common_neighbours_are_counted(links: str) -> None:
    graph = toy_graph(links=links)
    ends = torch.randint(0, len(graph.x), (2, 200), generator=torch.Generator().manual_seed(0))
    points_to: dict[int, set[int]] = {}
    for one, two in graph.edge_index.T.tolist():
        points_to.setdefault(one, set()).add(two)
    expected = [len(points_to.get(a, set()) & points_to.get(b, set())) for a, b in ends.T.tolist()]
    assert sum(expected) > 0
    assert common_neighbours(graph, ends).tolist() == expected


def test_the_reference_of_common_neighbours() -> None:
    split = split_links(toy_graph())
    found = audit_links(alike, split, draws=1, self_pairs=0, list_people=0)
    (reference,) = (one for one in found.references if one.name == "common neighbours")

    def common(graph, pairs):  # type: ignore[no-untyped-def]
        return common_neighbours(graph, pairs)

    audited = audit_links(common, split, draws=1, self_pairs=0, list_people=0)
    for key, value in reference.metrics.items():
        assert audited.metrics[key] == pytest.approx(value), key
