"""Two groups out of any column."""

from __future__ import annotations

import operator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.column_names import Comparison
from fairgear.errors import FairgearError
from fairgear.graph import (
    SensitiveGraph,
    TableColumns,
    build_stored,
    from_networkx,
    from_pyg,
    from_tables,
    open_stored,
    read_graph,
)
from fairgear.graph.tables import Encoding
from tests.graph.people import FRIENDS, PEOPLE, network, people, pyg_data, tiny

RACES = ["White", "Black", "Asian", "White"] * 2
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def made(nodes: pd.DataFrame, **options: Any) -> SensitiveGraph:
    return from_tables(nodes, **{"label": "ok", "similarity": 0.5, **options})


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("bound", ["40", "40.0", "4e1", "45.5"])
def test_a_comparison_makes_two_groups(sign: str, bound: str) -> None:
    table = tiny()
    graph = made(table, sensitive=f"age{sign}{bound}")
    assert graph.sens.tolist() == [int(SIGNS[sign](age, float(bound))) for age in table.age]
    assert graph.sens_names[1] == f"age{sign}{bound}"
    opposite = Comparison.parse(graph.sens_names[0])
    assert opposite is not None
    assert graph.sens.tolist() == [
        int(not SIGNS[opposite.sign](age, float(opposite.bound))) for age in table.age
    ]
    # In the place of its column, which would tell the group in every world.
    assert graph.feature_names == [f"age{sign}{bound}", "sex=m"]
    assert graph.x[:, 0].tolist() == graph.sens.tolist()


@given(st.floats(-1e9, 1e9), st.sampled_from(sorted(SIGNS)), st.sampled_from(["", " ", "  "]))
def test_a_comparison_is_parsed_to_the_last_digit(bound: float, sign: str, space: str) -> None:
    for column in ("age", "years of age", "a.b"):
        found = Comparison.parse(f"{column}{space}{sign}{space}{bound!r}")
        assert found is not None
        assert (found.column, found.sign, float(found.bound)) == (column, sign, bound)


@pytest.mark.parametrize("text", ["age", "age<", "<40", "age<b", "age=40", "age<40 or so", "age<<"])
def test_other_texts_are_names_of_columns(text: str) -> None:
    found = Comparison.parse(text)
    assert found is None or found.column == "age<"


def test_a_column_of_that_name_comes_first() -> None:
    graph = made(tiny(**{"age<40": ["x", "y"] * 4}), sensitive="age<40")
    assert graph.sens_names == ("x", "y")
    assert "age" in graph.feature_names


def test_one_value_against_all_others() -> None:
    graph = made(tiny(race=RACES), sensitive="race", against="White")
    assert graph.sens_names == ("White", "not White")
    assert graph.sens.tolist() == [int(race != "White") for race in RACES]
    assert graph.feature_names == ["age", "sex=m", "race"]
    turned = made(tiny(race=RACES), sensitive="race", against="White", sensitive_one="White")
    assert turned.sens_names == ("not White", "White")
    assert turned.sens.tolist() == [int(race == "White") for race in RACES]
    coded = made(tiny(race=[1, 2, 3, 1] * 2), sensitive="race", against=1)
    assert coded.sens_names == ("1", "not 1")
    assert coded.sens.tolist() == graph.sens.tolist()


def test_missing_values_have_no_group() -> None:
    for table, options in (
        (tiny(race=[None, *RACES[1:]]), {"sensitive": "race", "against": "White"}),
        (tiny(age=[None, *range(7)]), {"sensitive": "age<3"}),
    ):
        with pytest.raises(FairgearError, match="7 of 8 people with a value"):
            made(table, **options)
        assert made(table, unknown="drop", **options).node_id.tolist() == [*range(1, 8)]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({}, {"sensitive": "agee<40"}, "--sensitive: got 'agee', which is no column"),
        ({}, {"sensitive": "agee<40"}, "did you mean 'age'"),
        ({}, {"sensitive": "sex<40"}, "no numbers, such as 'f', 'm'"),
        ({"age": [True, False] * 4}, {"sensitive": "age<1"}, "no numbers"),
        ({}, {"sensitive": "age<1"}, "1 values: 'age>=1'"),
        ({}, {"sensitive": "age<40", "drop": ["age"]}, "two roles, sensitive and drop"),
        ({}, {"sensitive": "age<40", "label": "age"}, "two roles, sensitive and label"),
        ({}, {"sensitive": "age<40", "against": "x"}, "--sensitive-against: got 'x' beside"),
        ({"race": RACES}, {"sensitive": "race", "against": "white"}, "did you mean 'White'"),
        ({"race": RACES}, {"sensitive": "race", "against": "9"}, "nobody's race; allowed: 'Asian'"),
        ({}, {"sensitive": "age<40", "sensitive_one": "old"}, "no value 'old'"),
    ],
)
def test_refusals(change: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(FairgearError) as error:
        made(tiny(**change), **options)
    assert said in str(error.value), str(error.value)


def test_dates_are_compared_as_days() -> None:
    days = [date(1970, 1, 1 + i) for i in range(8)]
    assert made(tiny(since=days), sensitive="since>=3").sens.tolist() == [0] * 3 + [1] * 5


def options(**given: Any) -> TableColumns:
    return TableColumns(label="approved", **given)


@pytest.mark.parametrize(
    "given", [{"sensitive": "age<40"}, {"sensitive": "job", "against": "cook"}]
)
def test_every_source_makes_the_same_groups(given: dict[str, Any], tmp_path: Path) -> None:
    if "against" in given:
        given = given | {"against": str(people().job.iloc[0])}
    graph = read_graph(PEOPLE, options(**given), FRIENDS)
    expected = people().age < 40 if "against" not in given else people().job != given["against"]
    assert graph.sens.tolist() == expected.astype(int).tolist()
    others = [from_networkx(network(), label="approved", **given)]
    numbered = people().assign(id=range(400))
    place = {name: row for row, name in enumerate(people().id)}
    pd.read_csv(FRIENDS).map(place.get).to_parquet(tmp_path / "e.parquet")
    numbered.to_parquet(tmp_path / "p.parquet")
    files = tmp_path / "e.parquet", tmp_path / "p.parquet"
    build_stored(tmp_path / "g", *files, options(**given), memory=2**16)
    others.append(open_stored(tmp_path / "g"))
    for other in others:
        assert other.sens.tolist() == graph.sens.tolist()
        assert other.sens_names == graph.sens_names
        assert other.feature_names == graph.feature_names
        assert torch.allclose(other.x[:], graph.x)


def test_pyg_data_compare_a_column_or_an_attribute() -> None:
    data = pyg_data()
    expected = (people().age < 40).astype(int).tolist()
    assert from_pyg(data, sensitive="age<40").sens.tolist() == expected
    data.years = torch.tensor(people().age.tolist())
    graph = from_pyg(data, sensitive="years<40")
    assert graph.sens.tolist() == expected
    assert "age" in graph.feature_names
    assert "years<40" in graph.feature_names


@pytest.mark.parametrize(
    "given", [{"sensitive": "age<40"}, {"sensitive": "job", "against": "cook"}]
)
def test_a_saved_encoding_codes_others_alike(given: dict[str, Any], tmp_path: Path) -> None:
    if "against" in given:
        given = given | {"against": str(people().job.iloc[0])}
    graph = read_graph(PEOPLE, options(**given), FRIENDS)
    graph.encoding.write(tmp_path / "encoding.json")
    encoding = Encoding.read(tmp_path / "encoding.json")
    # Without the value of group 0, on one side of the number, and without a word of --against.
    some = people()[(people().age > 50) & (people().job != people().job.iloc[0])]
    some.to_csv(tmp_path / "p.csv", index=False)
    columns = TableColumns(sensitive=given["sensitive"], similarity=0.5)
    other = read_graph(tmp_path / "p.csv", columns, encoding=encoding)
    assert other.sens_names == graph.sens_names
    assert other.feature_names == graph.feature_names
    assert set(other.sens.tolist()) == ({1} if "against" in given else {0})
    assert torch.equal(other.x, graph.x[np.flatnonzero(people().id.isin(some.id))])
    for wrong, said in (
        ({"sensitive": given["sensitive"], "against": "smith"}, "--sensitive-against"),
        ({"sensitive": "sex"}, f"'{given['sensitive']}', as the model was trained"),
    ):
        with pytest.raises(FairgearError, match=said):
            read_graph(tmp_path / "p.csv", TableColumns(similarity=0.5, **wrong), encoding=encoding)


def test_encodings_without_such_groups_are_written_as_before(tmp_path: Path) -> None:
    graph = read_graph(PEOPLE, options(sensitive="sex"), FRIENDS)
    graph.encoding.write(tmp_path / "encoding.json")
    assert "against" not in (tmp_path / "encoding.json").read_text()
    assert Encoding.read(tmp_path / "encoding.json").against is None
