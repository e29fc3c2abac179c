"""Sensitive attributes that are numbers, and which kind a column is taken for."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from fairgear.errors import FairgearError
from fairgear.graph import (
    SensitiveGraph,
    SimilarityRule,
    TableColumns,
    build_stored,
    from_networkx,
    from_pyg,
    from_scipy,
    from_tables,
    open_stored,
    read_graph,
)
from fairgear.graph.attributes import Attributes
from fairgear.graph.stored import write_stored
from fairgear.graph.tables import Encoding
from tests.graph.people import (
    FRIENDS,
    PEOPLE,
    adjacency,
    friends,
    network,
    nx,
    people,
    pyg_data,
    rows_of_friends,
)

AGE: dict[str, Any] = {"label": "approved", "sensitive": "age"}


def made(nodes: pd.DataFrame | None = None, **options: Any) -> SensitiveGraph:
    return from_tables(people() if nodes is None else nodes, friends(), **{**AGE, **options})


def test_a_number_is_kept_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    graph, table = made(), people()
    assert 'age: a number from 21 to 65; --sensitive "age<43" makes' in capsys.readouterr().err
    assert graph.sens.dtype == torch.float64
    assert graph.sens.tolist() == table.age.tolist()
    assert graph.attributes == Attributes.number("age")
    assert (graph.sens_kind, graph.sens_names, graph.sens_known) == ("continuous", (), None)
    assert graph.sens_column == graph.feature_names.index("age")
    assert graph.x[:, graph.sens_column].tolist() == table.age.tolist()
    other = made(sensitive="sex")
    rest = [name for name in graph.feature_names if name not in ("age", "sex=male")]
    for name in rest:
        columns = graph.feature_names.index(name), other.feature_names.index(name)
        assert torch.equal(graph.x[:, columns[0]], other.x[:, columns[1]])


def sources(folder: Path) -> dict[str, SensitiveGraph]:
    """The same people by their ages, from everything that is read."""
    numbered = people().assign(id=range(400))
    numbered.to_parquet(folder / "p.parquet")
    pairs = pd.DataFrame(rows_of_friends().T)
    pairs.to_csv(folder / "e.csv", index=False, header=False)
    nx.write_graphml(network(), folder / "p.graphml")
    own = pyg_data()
    own.years = torch.tensor(people().age.tolist())
    held = pyg_data()
    torch.save(held, folder / "p.pt")
    columns = TableColumns(**AGE)
    build_stored(folder / "g", _parquet(pairs, folder), folder / "p.parquet", columns, memory=2**16)
    write_stored(made(), folder / "again")
    return {
        "csv": read_graph(PEOPLE, columns, FRIENDS),
        "parquet": read_graph(folder / "p.parquet", columns, folder / "e.csv"),
        "networkx": from_networkx(network(), **AGE),
        "graphml": read_graph(folder / "p.graphml", columns),
        "scipy": from_scipy(adjacency(), people(), **AGE),
        "pyg": from_pyg(held, sensitive="age"),
        "pyg, an attribute": from_pyg(own, sensitive="years"),
        "pt": read_graph(folder / "p.pt", TableColumns(sensitive="age", label="y")),
        "stored": open_stored(folder / "g", verify=True),
        "written": open_stored(folder / "again", verify=True),
    }


def _parquet(pairs: pd.DataFrame, folder: Path) -> Path:
    pairs.columns = pd.Index(["a", "b"])
    pairs.to_parquet(folder / "e.parquet")
    return folder / "e.parquet"


def test_every_source_reads_the_same_number(tmp_path: Path) -> None:
    whole = made()
    for name, graph in sources(tmp_path).items():
        assert graph.sens.tolist() == whole.sens.tolist(), name
        assert graph.attributes == whole.attributes, name
        assert graph.continuous, name
        assert graph.sens_column == 0, name
        assert graph.x[:, 0].tolist() == whole.sens.tolist(), name
        assert torch.equal(graph.edge_index, whole.edge_index), name
        # Those of PyG were encoded by hand, the sex in the place of two levels.
        assert torch.allclose(graph.x[:], whole.x), name


FEW, MANY = [i % 12 for i in range(400)], [i % 13 for i in range(400)]
DAYS = [date(1970, 1, 1 + i % 28) for i in range(400)]


@pytest.mark.parametrize(
    ("values", "options", "kind"),
    [
        (FEW, {}, "categorical"),
        (MANY, {}, "continuous"),
        (FEW, {"sensitive_kind": {"s": "continuous"}}, "continuous"),
        ([0, 1] * 200, {"sensitive_kind": {"s": "continuous"}}, "continuous"),
        ([0, 1] * 200, {"sensitive_kind": {"s": "binary"}}, "binary"),
        ([0, 1] * 200, {"sensitive_kind": {"s": "categorical"}}, "binary"),
        (MANY, {"sensitive_kind": {"s": "categorical"}}, "categorical"),
        (MANY, {"categorical": ["s"]}, "categorical"),
        ([f"{i} years" for i in MANY], {}, "categorical"),
        ([str(i) for i in MANY], {"sensitive_kind": {"s": "continuous"}}, "continuous"),
        (pd.Categorical(MANY), {}, "categorical"),
        (DAYS, {}, "continuous"),
        (np.array(DAYS, dtype="datetime64[ns]"), {}, "continuous"),
        (MANY, {"against": 3}, "binary"),
        (MANY, {"sensitive": "s<5"}, "binary"),
    ],
)
def test_kinds(values: Any, options: dict[str, Any], kind: str) -> None:
    graph = made(people().assign(s=values), **{"sensitive": "s", **options})
    assert graph.sens_kind == kind
    if kind == "continuous":
        dates = not isinstance(values[0], int | str)
        expected = [day.day - 1 for day in DAYS] if dates else [float(value) for value in values]
        assert graph.sens.tolist() == expected


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([str(i) for i in MANY], {}, "text that spells numbers, 13 values"),
        (range(400), {"sensitive_kind": {"s": "categorical"}}, "up to 60 groups, or a number"),
        (FEW, {"sensitive_kind": {"s": "binary"}}, "s=binary, a column of 12 values"),
        (["x", "y"] * 200, {"sensitive_kind": {"s": "continuous"}}, "got text, such as 'x', 'y'"),
        ([True, False] * 200, {"sensitive_kind": {"s": "continuous"}}, "got true and false"),
        ([1.0, np.inf, *MANY[2:]], {}, "got infinite numbers"),
        ([1] * 400, {"sensitive_kind": {"s": "continuous"}}, "got 1 different numbers;"),
        ([1, None] * 200, {"sensitive_kind": {"s": "continuous"}}, "numbers, and 200 missing"),
        (MANY, {"sensitive": "s,sex"}, "'s,sex', of which 's' is a number; allowed: several"),
        (MANY, {"sensitive": "s,sex"}, '--sensitive "s<40"; a code is said by --sensitive-kind s='),
        (FEW, {"sensitive": "sex,s", "sensitive_kind": {"s": "continuous"}}, "is a number"),
        (FEW, {"sensitive": "sex,s", "sensitive_kind": {"s": "binary"}}, "s=binary, a column of"),
        (MANY, {"sensitive_one": 3}, "got 3, with the number 's'"),
        (MANY, {"sensitive_kind": {"t": "binary"}}, "--sensitive-kind: got 't', which is no col"),
        (MANY, {"sensitive_kind": {"age": "binary"}}, "got 'age', which is not the sensitive"),
        (MANY, {"sensitive": "s<4", "sensitive_kind": {"s": "continuous"}}, "allowed: 's<4'"),
        (MANY, {"sensitive_kind": {"s": "numeric"}}, "binary, categorical, continuous"),
        (MANY, {"sensitive_kind": "continuous"}, "a mapping from columns to"),
        (MANY, {"against": 3, "sensitive_kind": {"s": "continuous"}}, "leave one of the two out"),
        ([[1]] * 400, {}, "lists or other compound values"),
        (
            [5] * 10 + [*range(390)],
            {"income": [1] * 10 + [None] * 390, "missing": "drop"},
            "10 whose s is known and the same",
        ),
    ],
)
def test_refusals(values: Any, options: dict[str, Any], said: str) -> None:
    options = dict(options)
    changed = {name: options.pop(name) for name in ("income",) if name in options}
    with pytest.raises(FairgearError) as error:
        made(people().assign(s=values, **changed), **{"sensitive": "s", **options})
    assert said in str(error.value), str(error.value)
    assert "\n" not in str(error.value)


def test_a_code_makes_groups_with_others() -> None:
    table = people().assign(s=MANY)
    graph = made(table, sensitive="sex,s", sensitive_kind={"s": "categorical"})
    assert graph.num_groups == 26
    assert graph.attributes is not None
    named = [graph.attributes.names[group] for group in graph.sens]
    assert named == [f"{sex}, {code}" for sex, code in zip(table.sex, table.s, strict=True)]


def test_a_number_weighs_as_others_where_rows_are_standardized() -> None:
    options: dict[str, Any] = {"similarity": 0.7, "standardize": True}
    graph = from_tables(people(), **AGE, **options)
    other = from_tables(people(), label="approved", sensitive="sex", **options)
    # Of the other graph age is standardized, and sex is not; the reverse here.
    assert graph.raw is not None
    assert other.raw is not None
    table = graph.raw.numpy().copy()
    assert table[:, 0].tolist() == people().age.tolist()
    table[:, 0] = other.raw[:, 0]
    assert torch.equal(graph.edge_index, SimilarityRule(0.7).edges(table))
    table[:, 0] = people().age
    assert not torch.equal(graph.edge_index, SimilarityRule(0.7).edges(table))


@pytest.mark.parametrize("neighbors", [None, 5])
def test_a_column_with_a_unit_is_divided_by_it(neighbors: int | None) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 3)) * [1, 50, 1]
    rule = SimilarityRule(0.6, neighbors, unit=(1, 50.0))
    plain = SimilarityRule(0.6, neighbors)

    def edges(values: np.ndarray[Any, Any]) -> Tensor:
        return plain.edges(values / [1, 50, 1])

    built = rule.build(table)
    assert torch.equal(built.edge_index, edges(table))
    after = table.copy()
    after[[4, 7], 1] += 60
    assert torch.equal(built.after(after, np.array([4, 7])), edges(after))
    assert table[0, 1] != table[0, 1] / 50


def test_a_saved_encoding_reads_the_number_of_others(tmp_path: Path) -> None:
    graph = made()
    graph.encoding.write(tmp_path / "encoding.json")
    encoding = Encoding.read(tmp_path / "encoding.json")
    assert asdict(encoding) == asdict(graph.encoding)
    assert encoding.continuous
    # So few that they would be groups; and one alone, older than anybody in training.
    for rows in (people().index[:6], people().index[:1]):
        some = people().loc[rows]
        some["age"] += 50
        some.to_csv(tmp_path / "p.csv", index=False)
        columns = TableColumns(sensitive="age", similarity=0.5)
        other = read_graph(tmp_path / "p.csv", columns, encoding=encoding)
        assert other.sens.tolist() == some.age.tolist()
        assert other.continuous
        assert torch.equal(other.x[:, 1:], graph.x[torch.tensor(rows), 1:])
    wrong: dict[str, Any]
    for wrong, said in (
        ({"sensitive_kind": {"age": "categorical"}}, "a number, as the model was trained"),
        ({"sensitive_one": "3"}, "none, as the model was trained"),
        ({"sensitive": "sex"}, "'age', as the model was trained"),
    ):
        options: dict[str, Any] = {"sensitive": "age", "similarity": 0.5, **wrong}
        given = TableColumns(**options)
        with pytest.raises(FairgearError, match=said):
            read_graph(tmp_path / "p.csv", given, encoding=encoding)
    same = TableColumns(sensitive="age", similarity=0.5, sensitive_kind={"age": "continuous"})
    assert read_graph(tmp_path / "p.csv", same, encoding=encoding).continuous
    groups = made(sensitive="sex").encoding
    number = TableColumns(sensitive="sex", similarity=0.5, sensitive_kind={"sex": "continuous"})
    with pytest.raises(FairgearError, match="groups, as the model was trained"):
        read_graph(tmp_path / "p.csv", number, encoding=groups)


def test_copies_of_a_number_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    made(people().assign(years=people().age))
    assert "column 'years' is a copy of 'age'; consider --drop" in capsys.readouterr().err
