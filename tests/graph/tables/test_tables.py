"""What is done to the columns of a table, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph, TableColumns, from_tables
from tests.graph.people import tiny

PAIRS = pd.DataFrame({"a": [0, 1, 2, 6], "b": [1, 2, 3, 7]})


def made(nodes: pd.DataFrame, edges: pd.DataFrame | None = PAIRS, **columns: Any) -> SensitiveGraph:
    return from_tables(nodes, edges, **({"label": "ok", "sensitive": "sex"} | columns))


def column(graph: SensitiveGraph, name: str) -> list[float]:
    found: list[float] = graph.x[:, graph.feature_names.index(name)].tolist()
    return found


def refused(said: str, nodes: pd.DataFrame, edges: Any = PAIRS, **columns: Any) -> None:
    with pytest.raises(FairgearError) as error:
        made(nodes, edges, **columns)
    assert said in str(error.value), str(error.value)
    assert "\n" not in str(error.value)


def test_levels_become_columns_of_0_and_1_scaled() -> None:
    jobs = ["cook", "nurse", "smith", "cook"] * 2
    graph = made(tiny(job=jobs, city=["A", "B"] * 4, flag=[True, False] * 4))
    names = ["age", "sex", "job=cook", "job=nurse", "job=smith", "city=B", "flag"]
    assert graph.feature_names == names
    assert column(graph, "job=cook") == [1 if job == "cook" else -1 for job in jobs]
    assert column(graph, "city=B") == [-1, 1] * 4
    assert column(graph, "flag") == [1, -1] * 4


def test_the_kinds_of_columns_that_are_numbers_or_levels() -> None:
    graph = made(
        tiny(
            code=[1, 2, 3, 1] * 2,
            many=pd.Categorical([3, 1, 2, 1] * 2),
            price=[Decimal("1.5"), Decimal(2)] * 4,
            nullable=pd.array([1, 2] * 4, dtype="Int64"),
            mixed=pd.Series([1, "a", "b", 1] * 2, dtype=object),
            same=["x"] * 8,
            constant=[5] * 8,
        ),
        categorical=["code"],
    )
    assert graph.feature_names == [
        "age",
        "sex",
        *("code=1", "code=2", "code=3"),
        *("many=1", "many=2", "many=3"),
        "price",
        "nullable",
        *("mixed=1", "mixed=a", "mixed=b"),
        "constant",
    ]
    assert column(graph, "constant") == [0] * 8
    assert column(graph, "code=2") == [-1, 1, -1, -1] * 2


@pytest.mark.parametrize(
    ("values", "one", "expected"),
    [
        (["no", "yes"], None, [0, 1]),
        (["no", "yes"], "no", [1, 0]),
        ([1, 2], None, [0, 1]),
        ([9, 10], None, [0, 1]),
        (["9", "10"], None, [0, 1]),
        ([-1, 1], None, [0, 1]),
        ([0.0, 1.0], "1", [0, 1]),
        ([0.0, 1.0], 0, [1, 0]),
        ([True, False], None, [1, 0]),
        ([True, False], False, [0, 1]),
        (["TRUE", "FALSE"], None, [1, 0]),
    ],
)
def test_which_value_is_1(values: list[Any], one: Any, expected: list[int]) -> None:
    graph = made(tiny(ok=values * 4, sex=values * 4), positive=one, sensitive_one=one)
    assert graph.y.tolist() == graph.sens.tolist() == expected * 4
    assert graph.label_names == graph.sens_names
    assert graph.label_names[expected[0]] == str(values[0]).removesuffix(".0")
    assert column(graph, "sex") == [float(value) for value in expected * 4]


def test_a_missing_label_is_unknown_whatever_becomes_of_missing_values() -> None:
    for gaps in (["yes", None, "no", "no"] * 2, [1, np.nan, 0, 0] * 2):
        for policy in ("refuse", "impute", "drop"):
            graph = made(tiny(ok=gaps), missing=policy)
            assert graph.y.tolist() == [1, -1, 0, 0] * 2
        turned = made(tiny(ok=gaps), positive=gaps[2])
        assert turned.y.tolist() == [0, -1, 1, 1] * 2
    assert made(tiny(ok=None)).y.tolist() == [-1] * 8
    assert made(tiny(), label=None, drop=["ok"]).y.tolist() == [-1] * 8


def test_missing_values_are_refused_imputed_or_their_rows_dropped() -> None:
    table = tiny(
        pay=[1.0, np.nan, 3, 4, 5, 6, 7, 100], job=["a", "b", "b", None, "c", "c", "b", "a"]
    )
    refused("pay (1), job (1)", table)
    filled = made(table, missing="impute")
    assert len(filled.x) == 8
    # The median of 1 3 4 5 6 7 100, scaled to [−1, 1].
    assert column(filled, "pay")[1] == pytest.approx(2 * (5 - 1) / 99 - 1)
    assert column(filled, "job=b")[3] == 1
    fewer = made(table, missing="drop")
    assert fewer.node_id.tolist() == [0, 2, 4, 5, 6, 7]
    assert fewer.edge_index.tolist() == [[4, 5], [5, 4]]
    assert fewer.sens.tolist() == [0, 0, 0, 1, 0, 1]


def test_flags_are_filled_with_the_more_frequent() -> None:
    table = tiny(flag=pd.array([True, True, False, None] * 2, dtype="boolean"))
    assert column(made(table, missing="impute"), "flag") == [1, 1, -1, 1] * 2


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"label": "okay"}, "did you mean 'ok'"),
        ({}, {"sensitive": "SEX"}, "did you mean 'sex'"),
        ({}, {"id": "person"}, "--id: got 'person'"),
        ({}, {"drop": ["nosuch"]}, "--drop: got 'nosuch'"),
        ({}, {"categorical": ["nosuch"]}, "--categorical: got 'nosuch'"),
        ({}, {"drop": "age"}, "a list of column names"),
        ({}, {"drop": ["sex"]}, "two roles, sensitive and drop"),
        ({}, {"label": "sex"}, "two roles, sensitive and label"),
        ({}, {"drop": ["age"]}, "no column besides the sensitive one"),
        ({}, {"missing": "guess"}, "refuse, impute, drop"),
        ({}, {"unknown": "guess"}, "keep, drop"),
        ({"sex": ["f", None, *["f", "m"] * 3]}, {}, "got 7 of 8 people with a value; allowed: 30"),
        ({}, {"neighbors": 3}, "together with similarity"),
        ({}, {"standardize": True}, "together with similarity"),
        ({}, {"similarity": 0.5}, "both edges and a similarity"),
        ({}, {"positive": "maybe"}, "'no', 'yes'"),
        ({}, {"sensitive_one": "x"}, "'f', 'm'"),
        ({"sex": ["f"] * 8}, {}, "1 values: 'f'"),
        ({"sex": [None] * 8}, {}, "no value at all"),
        ({"sex": ["f", "m", "d", "f"] * 2}, {"sensitive_one": "f"}, "with 3 groups in 'sex'"),
        (
            {"sex": ["d", *"fmfmfmf"], "age": [None, *range(7)]},
            {"missing": "drop"},
            "nobody of 'd' once the others are dropped; allowed: people of every group",
        ),
        ({"ok": ["a"] * 8}, {}, "1 values: 'a'"),
        ({"id": [1, 2, 3, 4, 5, 6, 7, 7]}, {}, "1 repeated ids, the first '7'"),
        ({"id": list("abcdefgg")}, {}, "1 repeated ids, the first 'g'"),
        ({"id": [1, 2, 3, 4, 5, 6, 7, None]}, {}, "1 rows without an id"),
        ({"id": [2.0**60 + i * 2**10 for i in range(8)]}, {}, "beyond 2^53"),
        ({"id": np.arange(8, dtype=np.float32) + 2**24}, {}, "at or beyond 2^24"),
        ({"id": np.arange(8, dtype=np.float16) + 2**11}, {}, "at or beyond 2^11"),
        ({"id": pd.array([2**24, *range(7)], dtype="Float32")}, {}, "at or beyond 2^24"),
        ({"id": pd.Series([np.float32(2**24), *"abcdefg"])}, {}, "at or beyond 2^24"),
        ({"ok": [[1]] * 8}, {}, "column 'ok': got lists or other compound values"),
        ({"sex": [{"a": 1}] * 8}, {}, "column 'sex': got lists or other compound values"),
        ({"age": [10**400, *range(7)]}, {}, "1 values that are infinite"),
        ({"ok": ["a", None] * 4}, {}, "1 values: 'a', and 4 missing"),
        ({}, {"label": 7}, "label: got 7"),
        ({}, {"sensitive": None}, "sensitive: got None"),
        ({}, {"id": 7}, "id: got 7"),
        ({}, {"drop": [1]}, "drop: got [1]"),
        ({}, {"drop": None}, "drop: got None"),
        ({}, {"categorical": [1]}, "categorical: got [1]"),
        ({}, {"similarity": "0.5"}, "similarity: got '0.5'"),
        ({}, {"similarity": 0.5, "neighbors": 1.5}, "neighbors: got 1.5"),
        (
            {"age": [None, 1] * 4},
            {"missing": "drop"},
            "of the groups in 'sex': got 'm' alone once the others are dropped",
        ),
        ({"age": [np.inf, *range(7)]}, {}, "1 values that are infinite"),
        ({"age": [[1]] * 8}, {}, "compound values"),
        ({"age": pd.to_timedelta(range(8))}, {}, "of the kind timedelta"),
        ({"age": [None] * 8}, {"missing": "impute"}, "no value at all"),
        ({"age": [None] * 8}, {"missing": "drop"}, "none, with gaps in age (8)"),
        ({"a": ["x", "y", "z", "x"] * 2, "a=x": 1}, {}, "a feature called 'a=x'"),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], said: str) -> None:
    refused(said, tiny(**change), **options)


def test_neither_edges_nor_similarity_and_tables_of_nothing() -> None:
    refused("neither edges nor a similarity", tiny(), None)
    refused("no rows", tiny()[:0])
    refused("'age' more than once", pd.concat([tiny(), tiny()[["age"]]], axis=1))


def test_free_text_is_refused_with_a_way_out() -> None:
    names = pd.DataFrame({"age": range(60), "sex": ["f", "m"] * 30, "ok": [0, 1] * 30})
    for texts in ([f"name {i}" for i in range(60)], [f"name {i % 51}" for i in range(60)]):
        table = names.assign(who=texts)
        refused("--drop who", table)
        assert "who" not in made(table, drop=["who"]).feature_names
        assert made(table[:51], PAIRS.map(lambda i: f"name {i}"), id="who").node_names
    few = names[:14].assign(who=[f"name {i}" for i in range(14)])
    refused("14 different texts in 14 rows", few)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ([(0, 1), (9, 2), (3, 8)], "2 of 3 with an end that is nobody's id, the first '9'"),
        ([(0, 1), (0, "x")], "the first 'x'"),
        ([(0, 1.5)], "the first '1.5'"),
    ],
)
def test_edges_to_nobody(ends: list[tuple[Any, Any]], said: str) -> None:
    refused(said, tiny(), pd.DataFrame(ends))
    refused("1 columns", tiny(), pd.DataFrame({"a": [1]}))


def test_loops_repeats_and_directions(capsys: pytest.CaptureFixture[str]) -> None:
    edges = pd.DataFrame([(0, 1), (1, 0), (0, 1), (2, 2), (3, 2)], columns=["from", "to"])
    graph = made(tiny(), edges.assign(weight=0.5))
    assert graph.edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 2]]
    said = capsys.readouterr().err
    assert "dropped 1 self-loops and 1 repeats" in said
    assert "all count both ways" in said
    assert "weights are not used" in said
    made(tiny(), pd.DataFrame([(0, 1), (2, 3)]))
    assert "edges" not in capsys.readouterr().err


def test_what_is_said_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    made(tiny(copy=["m", "f"] * 4, leak=[3, 3, 9, 9] * 2, id=range(8)))
    said = capsys.readouterr().err
    assert "'copy=m' is a copy of 'sex'" in said
    assert "'leak' is a copy of 'ok'" in said
    assert "'id' holds the ids" in said
    assert "ok: yes counts as 1, no as 0" in said
    table = tiny(pay=np.arange(8) * 1e4, a=[0, 1] * 4, b=[0, 0, 1, 1] * 2)
    made(table, None, similarity=0.5)
    assert "decided by 'pay' nearly alone" in capsys.readouterr().err
    made(table, None, similarity=0.5, standardize=True)
    assert "nearly alone" not in capsys.readouterr().err


def test_ids_are_whole_numbers_or_names() -> None:
    def identified(ids: Any, edges: list[tuple[Any, Any]]) -> SensitiveGraph:
        return made(tiny(id=ids), pd.DataFrame(edges))

    long = [2**62 + i for i in range(8)]
    for ids in (long, [str(i) for i in long], pd.array(long, dtype="Int64")):
        graph = identified(ids, [(long[0], str(long[1]))])
        assert graph.node_id.tolist() == long
        assert graph.edge_index.tolist() == [[0, 1], [1, 0]]
        assert "node_names" not in graph
    assert identified([f"{i}.0" for i in range(8)], [(0, "1")]).node_id.tolist() == list(range(8))
    padded = [f"{i:03d}" for i in range(8)]
    graph = identified(padded, [("000", "007")])
    assert graph.node_names == tuple(padded)
    assert graph.edge_index.tolist() == [[0, 7], [7, 0]]
    beyond = [2**63 + i for i in range(8)]
    assert identified(beyond, [(beyond[0], beyond[1])]).node_names[0] == str(2**63)
    with pytest.raises(FairgearError, match="nobody's id, the first '7'"):
        identified(padded, [("000", 7)])


def test_ids_of_thousands_of_digits_are_names() -> None:
    ids = [10**5000 + i for i in range(8)]
    texts = ["1" + "0" * 4999 + str(i) for i in range(8)]
    for held in (ids, texts):
        graph = made(tiny(id=pd.Series(held, dtype=object)), pd.DataFrame([(held[0], texts[1])]))
        assert graph.node_names == tuple(texts)
        assert graph.edge_index.tolist() == [[0, 1], [1, 0]]
    refused("nobody's id", tiny(), pd.DataFrame([("1" * 5000, 0)]))


def test_what_is_no_table_is_refused() -> None:
    rows: Any = [{"age": 1}]
    refused("nodes: got a list", rows)
    refused("edges: got a list", tiny(), [(0, 1)])


def test_names_stay_with_their_people(capsys: pytest.CaptureFixture[str]) -> None:
    table = tiny(id=list("hgfedcba"), pay=[1, None, 3, 4, 5, 6, 7, 8])
    graph = made(table, pd.DataFrame([("h", "a"), ("g", "a")]), missing="drop")
    order = torch.tensor([6, 5, 4, 3, 2, 1, 0])
    for moved in (graph, graph.permute(order), graph.permute(order).replace(name="x")):
        ages = {
            moved.node_names[i]: float(x[0]) for i, x in zip(moved.node_id, moved.x, strict=True)
        }
        assert ages == pytest.approx(
            {c: 2 * (10 * i) / 70 - 1 for i, c in enumerate("hgfedcba") if c != "g"}
        )
    assert graph.num_undirected_edges == 1
    said = capsys.readouterr().err
    assert "left out 1 of 8 rows" in said
    assert "left out 1 at people who were left out" in said


def test_an_id_column_can_be_dropped_or_be_something_else() -> None:
    table = tiny(ID=[1] * 8)
    assert made(table, drop=["ID"]).node_id.tolist() == list(range(8))
    assert made(tiny(node_id=range(8, 16)), None, similarity=0.5).node_id.tolist() == [
        *range(8, 16)
    ]
    assert "id" in made(tiny(id=[0, 1] * 4, key=range(8)), id="key", sensitive="id").feature_names


def test_settings_refuse_a_bad_threshold() -> None:
    with pytest.raises(FairgearError, match="above 0, below 1"):
        TableColumns(sensitive="sex", similarity=1.5)


@pytest.mark.parametrize("sensitive", ["sex", "race,sex", "age", "age<40"])
def test_people_alone_have_groups_and_labels_and_nothing_else(sensitive: str) -> None:
    """What other columns hold is in nobody's way, and the attribute and label are as ever."""
    table = pd.read_csv("examples/applicants.csv")
    friends = pd.read_csv("examples/colleagues.csv").iloc[:, :2]
    given = {"label": "approved", "sensitive": sensitive, "missing": "impute"}
    linked = from_tables(table, friends, **given)  # type: ignore[arg-type]  # by name
    more = table.assign(remark=[f"remark {row}" for row in range(len(table))])
    alone = from_tables(more, label="approved", sensitive=sensitive, linked=False)
    assert (alone.num_undirected_edges, alone.x.shape[1]) == (0, int(alone.sens_column == 0))
    known = slice(None) if alone.sens_known is None else alone.sens_known
    assert torch.equal(alone.sens[known], linked.sens[known])
    assert torch.equal(alone.y, linked.y)
    assert alone["node_names"] == linked["node_names"]
    assert alone.attributes == linked.attributes
    # Edges that are there are read.
    both = from_tables(table, friends, linked=False, **given)  # type: ignore[arg-type]  # by name
    assert both.fingerprint() == linked.fingerprint()
