"""People in the columns of their table: what was read comes back, and nobody is impossible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.causal import for_graph
from fairgear.graph import SensitiveGraph, from_tables
from fairgear.graph.tables import OriginalColumns

EXAMPLE = pd.read_csv("examples/people.csv")


def read(frame: pd.DataFrame, **columns: object) -> SensitiveGraph:
    given: dict[str, object] = {"label": "approved", "sensitive": "sex", "similarity": 0.7}
    return from_tables(frame, **{**given, **columns})  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("standardize", [False, True])
def test_everybody_comes_back_as_they_were_in_the_table(standardize: bool) -> None:
    graph = read(EXAMPLE, standardize=standardize)
    found = OriginalColumns.of(graph).frame(graph.x, graph.sens)
    assert list(found) == ["sex", "age", "income", "debt", "job", "city", "owner"]
    for name in found:
        assert found[name].astype(str).tolist() == EXAMPLE[name].astype(str).tolist(), name
    assert found["income"].dtype == np.int64


def test_several_attributes_and_a_number_are_columns_of_their_own() -> None:
    frame = pd.read_csv("examples/applicants.csv")
    friends = pd.read_csv("examples/colleagues.csv")
    for sensitive in ("race,sex", "age"):
        graph = from_tables(
            frame, friends.iloc[:, :2], label="approved", sensitive=sensitive, missing="impute"
        )
        original = OriginalColumns.of(graph)
        found = original.frame(graph.x, graph.sens)
        known = graph.sens_known
        told = np.ones(len(frame), bool) if known is None else known.numpy()
        for name in sensitive.split(","):
            same = found[name][told].astype(str) == frame[name][told].astype(str)
            same |= frame[name][told].isna()
            assert same.all() or (found[name][told] == frame[name][told]).all()
        assert (
            not {"race", "sex", "age"}
            & {one.name for one in original.each}
            & set(sensitive.split(","))
        )


def test_people_of_another_world_are_possible() -> None:
    graph = read(EXAMPLE)
    world = for_graph(graph).counterfactual(graph, 1 - graph.sens)
    found = OriginalColumns.of(graph).frame(world.x, world.sens)
    assert (found["sex"] != EXAMPLE["sex"]).all()
    for name in ("job", "city", "owner"):
        assert set(found[name].astype(str)) <= set(EXAMPLE[name].astype(str))
    for name in ("age", "income", "debt"):
        assert found[name].dtype == np.int64
        assert found[name].between(EXAMPLE[name].min(), EXAMPLE[name].max()).all()
    assert (found["income"] != EXAMPLE["income"]).any()


def test_a_graph_without_a_table_has_its_features_for_columns() -> None:
    x = torch.tensor([[0.0, 1.5], [1.0, -2.25], [1.0, 0.5]])
    none = torch.empty(2, 0, dtype=torch.int64)
    graph = SensitiveGraph(x, none, None, torch.tensor([0, 1, 1]), sens_column=0)
    found = OriginalColumns.of(graph).frame(x, graph.sens)
    assert found.to_dict("list") == {"x0": ["0", "1", "1"], "x1": [1.5, -2.25, 0.5]}


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**6), 10**6),
            st.decimals(-1000, 1000, places=2).map(float),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from(["yes", "no"]),
        ),
        min_size=6,
        max_size=90,
    ),
    st.booleans(),
)
def test_any_table_comes_back(rows: list[tuple[int, float, str, str]], standardize: bool) -> None:
    frame = pd.DataFrame(rows, columns=["n", "price", "kind", "flag"])
    frame["sex"] = ["f", "m"] * (len(rows) // 2) + ["f"] * (len(rows) % 2)
    graph = from_tables(frame, sensitive="sex", similarity=0.9, standardize=standardize)
    found = OriginalColumns.of(graph).frame(graph.x, graph.sens)
    for name in map(str, found):
        if found[name].dtype.kind in "if":
            # Features are of single precision.
            far = np.abs(found[name] - frame[name]).max()
            assert far <= 2e-6 * (frame[name].max() - frame[name].min()), name
        else:
            assert (found[name] == frame[name]).all(), name
