"""Laws of conversion, for tables drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear import SensitiveGraph
from fairgear.graph import from_tables

IDS = st.integers(-(2**63) + 1, 2**63 - 1)


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame]:
    """People with long ids, numbers with gaps, levels and unknown labels; and edges."""
    ids = draw(st.lists(IDS, min_size=4, max_size=12, unique=True))
    n = len(ids)

    def values(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=n, max_size=n))

    sens = values(st.sampled_from(["m", "w"]))
    sens[:2] = ["m", "w"]
    y = values(st.sampled_from(["no", "yes", None]))
    y[:2] = ["yes", "no"]
    pay = values(st.none() | st.integers(-1000, 1000))
    pay[0] = 1
    nodes = pd.DataFrame(
        {
            "who": ids,
            "pay": pd.Series(pay, dtype=object),
            "job": values(st.sampled_from(["cook", "nurse", "smith", "tailor"])),
            "flag": values(st.booleans()),
            "sex": sens,
            "ok": y,
        }
    )
    ends = draw(st.lists(st.tuples(*[st.sampled_from(ids)] * 2), min_size=1, max_size=20))
    return nodes, pd.DataFrame(ends, columns=["a", "b"])


def graph_of(nodes: pd.DataFrame, edges: pd.DataFrame | None, **options: Any) -> SensitiveGraph:
    return from_tables(
        nodes, edges, id="who", label="ok", sensitive="sex", missing="impute", **options
    )


def by_id(graph: SensitiveGraph) -> SensitiveGraph:
    return graph.permute(graph.node_id.argsort())


@given(tables(), st.randoms(use_true_random=False), st.sampled_from([None, 0.3, 0.9]))
def test_the_order_of_rows_does_not_matter(
    drawn: tuple[pd.DataFrame, pd.DataFrame], random: Any, threshold: float | None
) -> None:
    nodes, edges = drawn
    order = list(range(len(nodes)))
    random.shuffle(order)
    options = {} if threshold is None else {"similarity": threshold}
    known = edges if threshold is None else None
    one = graph_of(nodes, known, **options)
    other = graph_of(nodes.iloc[order], known, **options)
    assert by_id(one).fingerprint() == by_id(other).fingerprint()
    assert one.feature_names == other.feature_names


@given(tables())
def test_ids_and_edges_survive_to_the_last_digit(drawn: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    nodes, edges = drawn
    graph = graph_of(nodes, edges)
    assert graph.node_id.tolist() == nodes.who.tolist()
    joined = {frozenset(graph.node_id[pair].tolist()) for pair in graph.edge_index.T}
    listed = {frozenset((a, b)) for a, b in edges.itertuples(index=False) if a != b}
    assert joined == listed


@given(tables())
def test_the_columns_of_one_column_sum_to_one(drawn: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    graph = graph_of(drawn[0], None, similarity=0.5)
    assert graph.raw is not None
    made = [i for i, name in enumerate(graph.feature_names) if name.startswith("job=")]
    levels = drawn[0].job.nunique()
    assert len(made) == (levels if levels > 2 else levels - 1)
    told = graph.raw[:, made]
    assert set(told.flatten().tolist()) <= {0.0, 1.0}
    if levels > 2:
        assert torch.equal(told.sum(dim=1), torch.ones(len(told), dtype=torch.float64))


@given(tables())
def test_features_lie_in_their_range_and_hold_the_group(
    drawn: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    nodes, edges = drawn
    graph = graph_of(nodes, edges)
    assert bool((graph.x.abs() <= 1).all())
    assert graph.sens_column is not None
    assert graph.sens.tolist() == np.where(nodes.sex == "w", 1, 0).tolist()
    assert graph.x[:, graph.sens_column].tolist() == graph.sens.tolist()
    assert graph.y.tolist() == [{"yes": 1, "no": 0}.get(y, -1) for y in nodes.ok]
