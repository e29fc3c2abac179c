"""People whose sensitive attribute is not known."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear.errors import FairgearError
from fairgear.graph import (
    SensitiveGraph,
    TableColumns,
    build_stored,
    complete,
    from_networkx,
    from_pyg,
    from_tables,
    open_stored,
    read_graph,
)
from fairgear.graph.stored import write_stored
from fairgear.graph.unknown import Unknown
from fairgear.progress import quiet
from tests.graph.people import FRIENDS, friends, network, people, pyg_data, rows_of_friends

RACES = np.array(["White", "White", "Black", "Asian"] * 100, dtype=object)
TOLD = np.arange(400) % 5 != 2


def told(values: Any) -> pd.Series:
    """The values of some people."""
    return pd.Series(values, dtype=object).where(TOLD, None)


def made(nodes: pd.DataFrame, **options: Any) -> SensitiveGraph:
    return from_tables(nodes, friends(), **{"label": "approved", **options})


def known(graph: SensitiveGraph) -> list[bool]:
    """Whose attribute is known."""
    assert graph.sens_known is not None
    return graph.sens_known.tolist()


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "two groups": ({"sex": told(people().sex)}, {"sensitive": "sex"}),
    "several": ({"race": told(RACES)}, {"sensitive": "race"}),
    "a number": ({"age": told(people().age)}, {"sensitive": "age"}),
    "crossed": ({"race": RACES, "sex": told(people().sex)}, {"sensitive": "race,sex"}),
    "compared": ({"age": told(people().age)}, {"sensitive": "age<40"}),
    "against": ({"race": told(RACES)}, {"sensitive": "race", "against": "White"}),
}


@pytest.mark.parametrize("case", CASES)
def test_they_stay_with_the_value_of_somebody(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, options = CASES[case]
    graph = made(people().assign(**change), **options)
    name = "race, sex" if case == "crossed" else options["sensitive"]
    line = f"{name}: unknown of 80 of 400 people; they stay, with a guess; --unknown drop leaves"
    assert capsys.readouterr().err.count(line) == 1
    assert known(graph) == TOLD.tolist()
    # Those who told theirs have it, as in a table of them alone.
    whole = people().assign(race=RACES)
    sens = made(whole, **options).sens.numpy()
    assert graph.sens.numpy()[TOLD].tolist() == sens[TOLD].tolist()
    assert graph.sens.dtype == made(whole, **options).sens.dtype
    # The others' is that of the first completion.
    assert sens.min() <= graph.sens.min()
    assert graph.sens.max() <= sens.max()
    assert len(set(graph.sens.numpy()[~TOLD].tolist())) > 1
    assert torch.equal(complete(graph).sens, graph.sens)
    if graph.sens_column is not None:
        assert torch.equal(graph.x[:, graph.sens_column], graph.sens.float())


def test_guesses_follow_the_law_and_not_the_order_of_rows() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    had = rng.random(n) < 0.5
    groups = np.where(rng.random(n) < 0.2, "a", "b").astype(object)
    table = pd.DataFrame({"id": rng.permutation(n) * 3, "z": rng.normal(size=n)})
    table["s"] = pd.Series(groups).where(had, None)
    edges = pd.DataFrame({"a": table.id[:2], "b": table.id[2:4].to_numpy()})
    with quiet():
        graph = from_tables(table, edges, label=None, sensitive="s")
        mixed = rng.permutation(n)
        other = from_tables(table.iloc[mixed], edges, label=None, sensitive="s")
    guessed = graph.sens[~torch.from_numpy(had)].double()
    share = float(graph.sens[torch.from_numpy(had)].double().mean())
    assert abs(float(guessed.mean()) - share) < 4 * (0.25 / len(guessed)) ** 0.5
    assert torch.equal(other.sens, graph.sens[torch.from_numpy(mixed)])


@pytest.mark.parametrize("case", CASES)
def test_they_can_be_dropped(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    change, options = CASES[case]
    table = people().assign(**change)
    graph = made(table, unknown="drop", **options)
    assert "left out 80 of 400 rows: their " in capsys.readouterr().err
    among = set(people().id[TOLD])
    list_ = friends()[friends().source.isin(among) & friends().target.isin(among)]
    fewer = from_tables(table[TOLD], list_, label="approved", **options)
    assert graph.sens_known is None
    assert torch.equal(graph.x, fewer.x)
    assert graph.sens.tolist() == fewer.sens.tolist()
    assert torch.equal(graph.edge_index, fewer.edge_index)
    with pytest.raises(FairgearError, match="keep, drop"):
        made(table, unknown="guess", **options)


def test_missing_is_about_features() -> None:
    table = people().assign(race=told(RACES))
    table.loc[:9, "income"] = np.nan
    with pytest.raises(FairgearError, match=r"missing values: got income \(10\)"):
        made(table, sensitive="race")
    graph = made(table, sensitive="race", missing="drop")
    assert graph.node_id.tolist() == [*range(10, 400)]
    assert known(graph) == TOLD[10:].tolist()
    both = made(table, sensitive="race", missing="drop", unknown="drop")
    assert both.node_id.tolist() == [row for row in range(10, 400) if TOLD[row]]
    filled = made(table, sensitive="race", missing="impute", unknown="drop")
    # The median of those who stay.
    rows = [*np.flatnonzero(TOLD)]
    income = filled.feature_names.index("income")
    raw = table.income[rows].fillna(table.income[rows].median())
    scaled = 2 * (raw - raw.min()) / (raw.max() - raw.min()) - 1
    assert np.allclose(filled.x[:, income], scaled)


def test_too_few_known() -> None:
    sexes = people().sex.astype(object)
    few, enough = (sexes.where(np.arange(400) < count, None) for count in (29, 30))
    with pytest.raises(FairgearError, match="29 of 400 people with a value; allowed: 30 or more"):
        made(people().assign(sex=few), sensitive="sex")
    assert made(people().assign(sex=few), sensitive="sex", unknown="drop").sens_known is None
    graph = made(people().assign(sex=enough), sensitive="sex")
    assert sum(known(graph)) == 30
    for values, said in (
        (sexes.where(sexes == "male", None), "1 values: 'male', and"),
        (None, "no value at all"),
    ):
        for unknown in ("keep", "drop"):
            with pytest.raises(FairgearError, match=said):
                made(people().assign(sex=values), sensitive="sex", unknown=unknown)


def test_people_of_a_model_need_only_one_who_told(tmp_path: Path) -> None:
    for name in ("race", "age"):
        options: dict[str, Any] = {"sensitive": name}
        table = people().assign(race=told(RACES), age=told(people().age)).drop(columns="id")
        table = table.drop(columns={"race": "age", "age": "race"}[name])
        trained = made(table.assign(id=people().id), **options)
        table[:5].to_csv(tmp_path / "p.csv", index=False)
        columns = TableColumns(similarity=0.5, **options)
        other = read_graph(tmp_path / "p.csv", columns, encoding=trained.encoding)
        assert other.sens_known is not None
        assert other.sens_known.tolist() == TOLD[:5].tolist()
        assert other.sens[other.sens_known].tolist() == trained.sens[:5][TOLD[:5]].tolist()
        table[2:3].to_csv(tmp_path / "p.csv", index=False)
        with pytest.raises(FairgearError, match="0 of 1 people with a value; allowed: 1 or more"):
            read_graph(tmp_path / "p.csv", columns, encoding=trained.encoding)


@pytest.mark.parametrize("case", CASES)
def test_text_files_and_networks(case: str, tmp_path: Path) -> None:
    change, options = CASES[case]
    table = people().assign(**change)
    expected = made(table, **options)
    words = table.copy()
    for place, name in enumerate(change):
        if words[name].isna().any():
            words[name] = words[name].where(TOLD, ["", "NA", "unknown"][place])
    words.to_csv(tmp_path / "p.csv", index=False)
    columns = TableColumns(label="approved", **options)
    graph = network()
    for key, row in zip(people().id, table.to_dict("records"), strict=True):
        graph.nodes[key].update({name: row[name] for name in change})
    for other in (
        read_graph(tmp_path / "p.csv", columns, FRIENDS),
        from_networkx(graph, label="approved", **options),
    ):
        assert other.fingerprint("sens", "x") == expected.fingerprint("sens", "x")
        assert known(other) == known(expected)


def test_pyg_data_have_minus_one() -> None:
    data, told_of = pyg_data(), torch.from_numpy(TOLD)
    data.race = torch.tensor([["White", "Black", "Asian"].index(race) for race in RACES])
    data.race[~told_of] = -1
    data.age2 = torch.tensor(people().age.tolist()) - int(people().age.min())
    data.age2[~told_of] = -1
    for name in ("race", "age2"):
        graph = from_pyg(data, sensitive=name)
        assert known(graph) == TOLD.tolist()
        assert graph.sens[told_of].tolist() == data[name][told_of].tolist()
        assert int(graph.sens.min()) >= 0
    data.old = (data.age2 > 20).long()
    graph = from_pyg(data, sensitive="race,old")
    assert known(graph) == TOLD.tolist()
    assert graph.attributes is not None
    assert [one.name for one in graph.attributes.each] == ["race", "old"]
    # A column of x that holds the same takes its place.
    data.sens[~told_of] = -1
    data.x[:, -1] = data.sens
    graph = from_pyg(data, sensitive="sens")
    assert graph.sens_column == graph.feature_names.index("sex")
    assert known(graph) == TOLD.tolist()
    assert graph.sens[told_of].tolist() == (people().sex == "male").astype(int)[TOLD].tolist()


@pytest.mark.parametrize("case", CASES)
def test_stored_graphs_are_those_in_memory(case: str, tmp_path: Path) -> None:
    change, options = CASES[case]
    table = people().drop(columns="id").assign(**change)
    table.to_parquet(tmp_path / "p.parquet", row_group_size=150)
    np.save(tmp_path / "e.npy", rows_of_friends())
    files = (tmp_path / "e.npy", tmp_path / "p.parquet")
    columns = TableColumns(label="approved", name="people", **options)
    build_stored(tmp_path / "g", *files, columns, memory=2**16)
    edges = pd.DataFrame(rows_of_friends().T)
    expected = from_tables(table, edges, label="approved", name="people", **options)
    write_stored(expected, tmp_path / "w")
    trained = expected.encoding
    build_stored(tmp_path / "again", *files, columns, encoding=trained, memory=2**16)
    for name in ("g", "w", "again"):
        graph = open_stored(tmp_path / name, verify=True)
        # Files hold a value drawn from those known; whoever loads them completes them.
        assert complete(graph).fingerprint() == expected.fingerprint()
        assert known(graph) == known(expected)
        for key in ("feature_names", "sens_column", "sens_kind", "attributes"):
            assert graph.get(key) == expected.get(key), (name, key)
        assert asdict(graph.encoding) == asdict(expected.encoding)


def test_two_columns_that_make_two_groups_are_stored(tmp_path: Path) -> None:
    table = people().drop(columns="id").assign(title=np.where(people().sex == "male", "Mr", "Ms"))
    table.to_parquet(tmp_path / "p.parquet")
    np.save(tmp_path / "e.npy", rows_of_friends())
    columns = TableColumns(label="approved", sensitive="title,sex", drop=["owner"], name="people")
    build_stored(tmp_path / "g", tmp_path / "e.npy", tmp_path / "p.parquet", columns)
    graph = open_stored(tmp_path / "g", verify=True)
    expected = from_tables(
        table,
        pd.DataFrame(rows_of_friends().T),
        label="approved",
        sensitive="title,sex",
        drop=["owner"],
    )
    assert graph.fingerprint() == expected.fingerprint()
    assert graph.attributes == expected.attributes
    assert graph.sens_kind == expected.sens_kind == "binary"
    wrong: dict[str, Any]
    for wrong, said in (
        ({"sensitive": "title,sex", "drop": ["sex"]}, "two roles, sensitive and drop"),
        ({"sensitive": "title,sx"}, "did you mean 'sex'"),
        ({"sensitive": "age,sex"}, "of which 'age' is a number"),
    ):
        options: dict[str, Any] = {"label": "approved", **wrong}
        other = TableColumns(**options)
        with pytest.raises(FairgearError, match=said):
            build_stored(tmp_path / "new", tmp_path / "e.npy", tmp_path / "p.parquet", other)


def test_copies_are_found_among_those_who_told(capsys: pytest.CaptureFixture[str]) -> None:
    coded = np.where(people().sex == "male", 7, 3)
    made(people().assign(sex=told(people().sex), copy=coded), sensitive="sex")
    assert "column 'copy' is a copy of 'sex'; consider --drop" in capsys.readouterr().err


def partly() -> tuple[SensitiveGraph, pd.DataFrame]:
    """Two attributes, of which people tell both, one or none."""
    nodes = people()
    nodes["race"] = RACES
    at = np.arange(len(nodes))
    nodes["race"] = nodes["race"].where(at % 5 != 2, None)
    nodes["sex"] = nodes["sex"].astype(object).where(at % 7 != 3, None)
    return made(nodes, sensitive="race,sex"), nodes


def test_guesses_of_several_attributes_agree_with_what_people_told() -> None:
    graph, nodes = partly()
    assert graph.attributes is not None
    assert graph.sens_told is not None
    assert graph.sens_known is not None
    assert 0 < int((~graph.sens_known).sum()) < len(nodes)
    law = Unknown(graph)
    for found in (graph, law.completed(0), law.completed(3), complete(law.completed(1), 2)):
        codes = graph.attributes.codes(found.sens.numpy())
        for place, of in enumerate(graph.attributes.each):
            values = np.array(of.values, dtype=object)[codes[:, place]]
            told = nodes[of.name].notna().to_numpy()
            assert (values[told] == nodes[of.name].to_numpy()[told]).all()
            assert (graph.sens_told[:, place].numpy() >= 0).tolist() == told.tolist()


def test_chances_are_those_of_the_groups_that_are_left() -> None:
    graph, _ = partly()
    assert graph.attributes is not None
    assert graph.sens_known is not None
    assert graph.sens_told is not None
    chances = Unknown(graph).chances
    free = Unknown(graph.replace(sens_told=None)).chances
    assert chances.sum(axis=1) == pytest.approx(1)
    for row in np.flatnonzero(~graph.sens_known.numpy()):
        told = graph.sens_told[row].tolist()
        left = [
            all(code in (-1, of) for code, of in zip(told, group, strict=True))
            for group in graph.attributes.groups
        ]
        expected = np.where(left, free[row], 0) / free[row][left].sum()
        assert chances[row] == pytest.approx(expected)


def test_what_was_told_goes_along_with_people() -> None:
    graph, _ = partly()
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(0))
    moved = graph.permute(order)
    assert graph.sens_told is not None
    assert moved.sens_told is not None
    assert torch.equal(moved.sens_told, graph.sens_told[order])
    assert torch.equal(complete(moved, 1).sens, complete(graph, 1).sens[order])


@pytest.mark.parametrize("wrong", ["shape", "kind", "code", "known"])
def test_what_was_told_must_fit(wrong: str) -> None:
    graph, _ = partly()
    assert graph.sens_told is not None
    told = graph.sens_told.clone()
    if wrong == "code":
        told[told[:, 0] >= 0, 0] = 99
    changed = {
        "shape": told[:, :1],
        "kind": told.double(),
        "code": told,
        "known": torch.zeros_like(told),
    }[wrong]
    with pytest.raises(FairgearError, match="sens_told"):
        graph.replace(sens_told=changed)


def test_without_gaps_nothing_is_kept_of_the_parts() -> None:
    nodes = people()
    nodes["race"] = RACES
    graph = made(nodes, sensitive="race,sex")
    assert graph.sens_known is None
    assert graph.sens_told is None
