"""Held-out quality, and a gate that closes where edges cannot be foretold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairgear.causal.edges.law import EdgeLaw
from fairgear.causal.edges.pairs import Factual, pairs_of
from fairgear.causal.edges.regression import EdgeQuality, PairRegression, cross_validated
from fairgear.causal.edges.terms import DistanceTerms
from tests.causal.edges.graphs import people

SHARP = np.array([-9.0, 14.0, 0.0, -0.6, 0.5])


def gate(drawn: Factual, kind: str = "distance") -> EdgeLaw:
    return EdgeLaw.of(kind, drawn, None, gate=True, seed=0)


def test_each_fifth_is_foretold_by_the_other_four() -> None:
    drawn = people(150, 0, SHARP)
    pairs = pairs_of(drawn, 0, all_pairs=5000)
    assert np.bincount(pairs.fold, minlength=5).min() > 0.15 * len(pairs)
    found = PairRegression(DistanceTerms.of(drawn.table, None), drawn, pairs)
    quality = cross_validated(found, found.fit())
    p = np.empty(len(pairs))
    for fold in range(5):
        held = pairs.fold == fold
        p[held] = 1 / (1 + np.exp(-found.logits(found.fit(~held), held)))
    expected = roc_auc_score(pairs.joined, p, sample_weight=pairs.weight)
    assert quality.auc == pytest.approx(expected, abs=1e-9)
    assert quality.expected == pytest.approx((p * pairs.weight).sum())
    assert quality.actual == drawn.edges.shape[1]
    np.testing.assert_allclose(
        np.sum(quality.bins, axis=0), [quality.expected, quality.actual], rtol=1e-9
    )


def test_the_gate_is_open_for_graphs_of_the_model_itself() -> None:
    for seed in range(5):
        found = gate(people(200, seed, SHARP))
        assert found.open, found.notes()
        assert found.held_out is not None
        assert found.held_out.expected == pytest.approx(found.held_out.actual, rel=0.05)


def test_the_gate_closes_where_edges_are_random() -> None:
    drawn = people(200, 1, np.array([-3.0, 0.0, 0.0, 0.0, 0.0]))
    found = gate(drawn)
    assert not found.open
    assert "AUC on held-out pairs is 0." in found.notes()[0]
    assert "held fixed" in found.notes()[0]


def test_the_gate_closes_where_the_shape_is_wrong() -> None:
    # Everyone joined to those at a middle distance: likeness tells, but not as a logit.
    drawn = people(200, 2)
    first, second = np.triu_indices(200, 1)
    terms = DistanceTerms.of(drawn.table, None)
    near = terms.likeness(terms.prepared(drawn.table), first, second)
    joined = (near > 0.62) & (near < 0.72)
    found = gate(
        Factual(
            drawn.ids, drawn.order, drawn.table, drawn.sens, np.stack([first, second])[:, joined]
        )
    )
    assert not found.open
    assert found.held_out is not None
    assert found.held_out.auc > 0.7
    assert "of the edges on held-out pairs are expected among" in found.notes()[0]


def test_a_wrong_total_closes_the_gate() -> None:
    quality = EdgeQuality(0.9, 0.9, 106.0, 100.0, ((106.0, 100.0),))
    assert "+6%" in str(quality.shortcoming())
    assert EdgeQuality(0.9, 0.9, 104.0, 100.0, ((104.0, 100.0),)).shortcoming() is None


def test_degrees_alone_do_not_open_the_gate() -> None:
    bins = ((100.0, 100.0),)
    assert "without degrees" in str(EdgeQuality(0.9, 0.59, 100.0, 100.0, bins).shortcoming())
    assert EdgeQuality(0.9, 0.61, 100.0, 100.0, bins).shortcoming() is None


def test_too_few_edges_close_the_gate() -> None:
    drawn = people(100, 3, SHARP)
    for count in (0, 1, 49):
        few = Factual(drawn.ids, drawn.order, drawn.table, drawn.sens, drawn.edges[:, :count])
        found = gate(few)
        assert not found.open
        assert f"{count} edges among 4950 pairs are too few to fit" in found.notes()[0]


def test_pairs_of_equal_probability_share_a_bin() -> None:
    # Features of two values, and edges that follow the groups: four probabilities or so.
    drawn = people(150, 4, np.array([-2.0, 0.0, 0.0, -2.0, 1.0]))
    flat = np.round(drawn.table[:, :1] > 0).astype(np.float64)
    found = gate(Factual(drawn.ids, drawn.order, flat, drawn.sens, drawn.edges))
    assert found.held_out is not None
    assert found.held_out.misplaced < 0.1
