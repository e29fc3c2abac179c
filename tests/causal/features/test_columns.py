from __future__ import annotations

import pandas as pd
import pytest
import torch

import fairgear as fg
from fairgear.causal.features import Columns
from fairgear.graph import SensitiveGraph


def graph_of(*, similarity: float | None, standardize: bool = False) -> SensitiveGraph:
    people = pd.read_csv("examples/people.csv")
    friends = None if similarity else pd.read_csv("examples/friends.csv")
    return fg.graph.from_tables(
        people,
        friends,
        label="approved",
        sensitive="sex",
        similarity=similarity,
        standardize=standardize,
    )


@pytest.mark.parametrize(
    "options", [{"similarity": 0.7}, {"similarity": 0.7, "standardize": True}, {"similarity": None}]
)
def test_categories_are_those_of_the_encoding(options: dict[str, float]) -> None:
    graph = graph_of(**options)  # type: ignore[arg-type]
    columns = Columns.of(graph)
    assert columns.titles == ("job", "city")
    assert columns.names == tuple(graph.feature_names)
    assert columns.skip == graph.sens_column
    for title, group in zip(columns.titles, columns.categories, strict=True):
        assert all(columns.names[k].startswith(f"{title}=") for k in group)
    # A category of two levels is one ordinary column.
    assert "owner" in columns.nodes
    # Without the encoding, names and values together say the same.
    assert Columns.of(graph.replace(encoding=None)) == columns


def test_names_alone_make_no_category() -> None:
    x = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]])
    names = ["a=1", "a=2", "a=3", "sex"]

    def columns(x: torch.Tensor) -> Columns:
        edges = torch.tensor([[0, 1], [1, 0]])
        sens = x[:, 3].long()
        return Columns.of(SensitiveGraph(x, edges, None, sens, sens_column=3, feature_names=names))

    assert columns(x).categories == ((0, 1, 2),)
    # Scaled indicators are indicators still.
    assert columns(x * torch.tensor([3.0, 2, 5, 1]) - torch.tensor([1.0, 0, 0, 0])).titles == ("a",)
    for row, values in ((0, [1.0, 1, 0]), (1, [0.0, 0, 0]), (1, [0.5, 1, 0])):
        other = x.clone()
        other[row, :3] = torch.tensor(values)
        assert columns(other).categories == ()
