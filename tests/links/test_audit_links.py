"""Audits of links: laws that hold of any model, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph, datasets
from fairgear.auditing import Worlds
from fairgear.errors import FileError, ParameterError
from fairgear.links import LinkAudit, LinkSplit, Pairs, audit_links, split_links
from fairgear.testing import toy_graph
from tests.links.models import alike, everything, features, same_group, surroundings, traits

QUICK: dict[str, Any] = {"draws": 2, "self_pairs": 6, "list_people": 15, "k": 5}


def permuted(split: LinkSplit, seed: int = 0) -> LinkSplit:
    """The same split of a graph whose rows are in another order, pairs in another one too."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(split.graph.x), generator=generator)
    graph = split.graph.permute(order)
    row_of = {int(node): row for row, node in enumerate(graph.node_id.tolist())}

    def part(pairs: Pairs) -> Pairs:
        mixed = torch.randperm(len(pairs), generator=generator)
        ids = split.graph.node_id[pairs.ends[:, mixed]]
        ends = torch.tensor([[row_of[node] for node in side] for side in ids.tolist()])
        if not graph.directed:
            ends = torch.where(torch.arange(len(pairs)) % 2 == 0, ends, ends.flip(0))
        return Pairs(ends, pairs.linked[mixed])

    return LinkSplit(graph, part(split.train), part(split.val), part(split.test))


@pytest.mark.parametrize(
    ("kind", "links", "model"),
    [
        ("binary", "undirected", features),
        ("categorical", "directed", features),
        ("continuous", "weighted", features),
        ("binary", "undirected", everything),
    ],
)
def test_the_order_of_rows_and_pairs_does_not_matter(kind: str, links: str, model: Any) -> None:
    split = split_links(toy_graph(sens=kind, links=links))
    found = audit_links(model, split, threshold=0.6, **QUICK)
    other = audit_links(model, permuted(split), threshold=0.6, **QUICK)
    pd.testing.assert_frame_equal(found.pairs, other.pairs, check_exact=True)
    # Fingerprints of graphs are those of their rows, and diagnostics of worlds sum over rows.
    setup = replace(other.setup, worlds=found.setup.worlds, graph=found.setup.graph)
    same = replace(other, setup=setup, diagnostics=found.diagnostics)
    assert found.to_dict() == same.to_dict()


def test_an_audit_repeats_bit_for_bit() -> None:
    split = split_links(toy_graph())
    first, second = (audit_links(alike, split, seed=3, **QUICK) for _ in range(2))
    assert first.to_dict() == second.to_dict()
    pd.testing.assert_frame_equal(first.pairs, second.pairs)
    other = audit_links(alike, split, seed=4, **QUICK)
    assert other.setup.worlds != first.setup.worlds


@pytest.fixture(scope="module")
def synthetic() -> LinkSplit:
    """150 people whose features and edges follow s by known equations."""
    settings: dict[str, Any] = {"n": 150, "d_z": 6, "d": 4, "a": 0.3, "threshold": 0.75}
    return split_links(datasets.load("synthetic", seed=1, **settings))


@pytest.fixture(scope="module")
def audit(synthetic: LinkSplit) -> LinkAudit:
    """Of homophily."""
    return audit_links(same_group, synthetic, **QUICK)


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    return split_links(toy_graph())


class TestHomophily:
    def test_one_end_alone_always_flips_and_both_never_do(self, audit: LinkAudit) -> None:
        found = audit.metrics
        assert found["delta_cf_either"] == 1
        assert found["delta_cf_both_ends"] == 0
        assert found["delta_cf_neighbours"] == 0
        assert set(audit.pairs["flip_either_end"].dropna()) == {1}

    def test_everybody_flips_who_is_of_another_group_than_before(
        self, audit: LinkAudit, synthetic: LinkSplit
    ) -> None:
        different = audit.pairs["group_source"] != audit.pairs["group_target"]
        alone = [row.rate for row in audit.flips if row.intervention in ("rate 0", "rate 1")]
        assert alone == [different.mean()] * 2
        mixed = []
        for sens in Worlds(synthetic.graph, draws=2).assignments[0.5]:
            first, second = (
                sens[torch.searchsorted(synthetic.graph.node_id, torch.tensor(ids.to_numpy()))]
                for ids in (audit.pairs["source"], audit.pairs["target"])
            )
            mixed.append(((first != second).numpy() != different).mean())
        expected = (2 * different.mean() + np.mean(mixed)) / 3
        assert audit.metrics["delta_cf"] == pytest.approx(expected)

    def test_gaps(self, audit: LinkAudit) -> None:
        for key in ("gap_same_different", "gap_same_different_linked", "gap_cells"):
            assert audit.metrics[key] == 1

    def test_copying_is_the_same_model(self, audit: LinkAudit) -> None:
        (copying,) = (one for one in audit.references if one.name == "copying")
        for key, value in copying.metrics.items():
            assert audit.metrics[key] == pytest.approx(value), key


def test_of_three_groups_both_ends_may_flip_and_one_end_may_not() -> None:
    split = split_links(toy_graph(sens="categorical"))
    audit = audit_links(same_group, split, **QUICK)
    assert audit.metrics["delta_cf_neighbours"] == 0
    (copying,) = (one for one in audit.references if one.name == "copying")
    for key, value in copying.metrics.items():
        assert audit.metrics[key] == pytest.approx(value), key
    assert 0 < audit.metrics["delta_cf_either"] < 1


def test_who_reads_nothing_that_s_causes_flips_nobody(synthetic: LinkSplit) -> None:
    audit = audit_links(traits, synthetic, threshold=0.55, **QUICK)
    assert {row.rate for row in audit.flips} == {0.0}
    assert audit.lists is not None
    assert {row.change for row in audit.lists.changes} == {0.0}
    assert all(row.score_size == 0 for row in audit.flips)
    assert all(row.interval.low == 0 < row.interval.high < 1 for row in audit.flips)
    moved = audit_links(surroundings, synthetic, threshold=0.55, **QUICK)
    assert moved.metrics["delta_cf"] > 0
    assert moved.metrics["delta_cf_neighbours"] > 0


def test_models_never_see_a_pair_in_question(synthetic: LinkSplit) -> None:
    asked = {frozenset(pair) for pair in synthetic.asked.T.tolist()}
    worlds = []

    def looks(graph: SensitiveGraph, pairs: torch.Tensor) -> torch.Tensor:
        edges = {frozenset(edge) for edge in graph.edge_index.T.tolist()}
        worlds.append(len(edges))
        assert not asked & edges
        return features(graph, pairs)

    audit_links(looks, synthetic, threshold=0.5, **QUICK)
    assert len(set(worlds)) > 5


def test_worlds_can_be_shared(synthetic: LinkSplit) -> None:
    worlds = Worlds(synthetic.graph, draws=2)
    shared = audit_links(features, synthetic, worlds=worlds, threshold=0.6, k=5, self_pairs=6)
    alone = audit_links(features, synthetic, threshold=0.6, draws=2, k=5, self_pairs=6)
    assert shared.to_dict() == alone.to_dict()


def test_flips_are_gained_or_lost(synthetic: LinkSplit) -> None:
    audit = audit_links(features, synthetic, threshold=0.6, **QUICK)
    table = audit.pairs
    for row in audit.flips:
        assert row.gained + row.lost == pytest.approx(row.rate)
        assert row.interval.low <= row.rate <= row.interval.high
        column = table[f"flip_{row.intervention.replace(' ', '_')}"]
        assert row.rate == pytest.approx(column.mean())
        assert row.pairs == column.notna().sum()
    (first,) = (row for row in audit.flips if row.intervention == "rate 1")
    moved = table["score_rate_1"] - table["score"]
    assert first.score_shift == pytest.approx(moved.mean())
    assert first.score_size == pytest.approx(moved.abs().mean())
    gained = ((table["score_rate_1"] > 0.6) & (table["score"] <= 0.6)).mean()
    assert first.gained == pytest.approx(gained)
    assert first.error is None


def test_an_audit_is_saved_and_loaded_whole(synthetic: LinkSplit, tmp_path: Path) -> None:
    audit = audit_links(everything, synthetic, threshold=0.6, **QUICK)
    audit.save(tmp_path)
    found = LinkAudit.load(tmp_path)
    assert found.to_dict() == audit.to_dict()
    pd.testing.assert_frame_equal(found.pairs, audit.pairs)
    assert found.summary() == audit.summary()
    assert repr(found) == repr(audit)
    text = (tmp_path / "links.json").read_text()
    (tmp_path / "links.json").write_text(text.replace('"k": 5', '"k": 6'))
    with pytest.raises(FileError, match="other content"):
        LinkAudit.load(tmp_path)
    with pytest.raises(FileError, match="finished audit of links"):
        LinkAudit.load(tmp_path / "nowhere")


def test_conditions_name_its_metrics(synthetic: LinkSplit) -> None:
    audit = audit_links(same_group, synthetic, **QUICK)
    (found,) = audit.failures("delta_cf_either > 0.5", "delta_cf_both_ends > 0")
    assert found.startswith("delta_cf_either is 1")
    assert len(audit.failures("delta_cf_both_ends.high > 0")) == 1
    with pytest.raises(ParameterError, match="delta_cf_either"):
        audit.failures("delta_cf_self > 0.5")


def test_without_lists_and_without_self() -> None:
    split = split_links(toy_graph())
    audit = audit_links(alike, split, draws=1, self_pairs=0, list_people=0)
    assert audit.lists is None
    assert "list_change" not in audit.metrics
    assert math.isnan(audit.metrics["delta_cf_either"])
    assert not math.isnan(audit.metrics["delta_cf"])


def test_everybody_of_one_group_has_no_worlds() -> None:
    graph = toy_graph()
    x = graph.x.clone()
    x[:, 2] = 0
    split = split_links(graph.replace(x=x, sens=torch.zeros_like(graph.sens)))
    audit = audit_links(alike, split, draws=1)
    assert math.isnan(audit.metrics["delta_cf"])
    assert any("everybody is in group" in note for note in audit.notes)
    assert [cell.name for cell in audit.cells if cell.pairs] == ["same", "0 0"]
    assert audit.lists is not None
    assert not audit.lists.changes


class TestErrors:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"k": 0}, "places of a list"),
            ({"self_pairs": -1}, "self_pairs"),
            ({"list_people": -1}, "list_people"),
            ({"level": 1.0}, "level"),
            ({"draws": 0}, "draws"),
        ],
    )
    def test_settings(self, split: LinkSplit, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            audit_links(alike, split, **settings)

    def test_pairs_that_models_see(self, split: LinkSplit) -> None:
        visible = Pairs(split.input.edge_index[:, :1], torch.tensor([1]))
        with pytest.raises(ParameterError, match="not in question"):
            audit_links(alike, split, pairs=visible)

    def test_a_pair_twice(self, split: LinkSplit) -> None:
        ends = split.test.ends[:, :1]
        twice = Pairs(torch.cat([ends, ends.flip(0)], dim=1), torch.tensor([1, 1]))
        with pytest.raises(ParameterError, match="more than once"):
            audit_links(alike, split, pairs=twice)

    def test_no_pairs(self, split: LinkSplit) -> None:
        none = Pairs(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
        with pytest.raises(ParameterError, match="pairs to audit"):
            audit_links(alike, split, pairs=none)

    def test_worlds_of_another_graph(self, split: LinkSplit) -> None:
        with pytest.raises(ParameterError, match="another graph"):
            audit_links(alike, split, worlds=Worlds(toy_graph(links="weighted")))
        with pytest.raises(ParameterError, match="beside Worlds"):
            audit_links(alike, split, worlds=Worlds(split.graph), draws=7)
