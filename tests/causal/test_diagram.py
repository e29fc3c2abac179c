from __future__ import annotations

from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

import fairgear as fg
from fairgear.causal import CausalModel, Diagram, FittedCausalModel, SimilarityCausalModel
from fairgear.errors import FairgearError, FileError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.testing import check_causal_model

PARENTS = {"job": ("sex",), "income": ("age", "job", "sex"), "debt": ("income",)}
YAML = """
parents:
  job: sex
  income: [age, job, sex]
  debt: [income]
  age:
"""
DOT = """
// who earns what
strict digraph "of people" {
  graph [label="a -> b"]; rankdir=LR
  node [shape=box];
  sex -> job -> income [color="red", style=bold]; /* two
  arrows */
  "age" -> income
  sex -> income; income -> {debt};
  # a comment
  age
}
"""


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.read_csv("examples/people.csv")


@pytest.fixture(scope="module")
def similar(people: pd.DataFrame) -> SensitiveGraph:
    return fg.graph.from_tables(
        people, label="approved", sensitive="sex", similarity=0.7, standardize=True
    )


def sets(diagram: Diagram) -> dict[str, set[str]]:
    return {name: set(of) for name, of in diagram.parents.items()}


EXPECTED = {**{name: set(of) for name, of in PARENTS.items()}, "sex": set(), "age": set()}


def test_every_way_to_write_a_diagram_reads_the_same(tmp_path: Path) -> None:
    graph = nx.DiGraph([(parent, name) for name, of in PARENTS.items() for parent in of])
    texts = {".gml": "\n".join(nx.generate_gml(graph)), ".yml": YAML, ".DOT": DOT, ".gv": DOT}
    for suffix, text in texts.items():
        path = tmp_path / f"diagram{suffix}"
        path.write_text(text, encoding="utf-8")
        assert sets(Diagram.read(path)) == EXPECTED, suffix
    assert sets(Diagram.from_networkx(graph)) == EXPECTED
    short = Diagram.from_yaml("job: [sex]\nincome: [age, job, sex]\ndebt: income")
    assert sets(short) == EXPECTED
    again = Diagram(**Diagram(PARENTS, ["job"], "sex").to_dict())
    assert again == Diagram(PARENTS, ("job",), "sex")


def test_yaml_may_name_the_attribute_and_what_resolves() -> None:
    diagram = Diagram.from_yaml("parents: {no: [on, 1]}\nresolving: [no]\nsensitive: on")
    assert (sets(diagram), diagram.resolving, diagram.sensitive) == (
        {"no": {"on", "1"}, "on": set(), "1": set()},
        ("no",),
        "on",
    )


@example({"}": [], "node": [0], "->": [1], ";": [], "=": [], "[": [0]})
@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.lists(st.integers(0, 5)),
        max_size=6,
    )
)
def test_dot_reads_any_name_in_quotes(found: dict[str, list[int]]) -> None:
    names = list(found)
    quoted = ['"' + n.replace("\\", "\\\\").replace('"', '\\"') + '"' for n in names]
    parents: dict[str, set[str]] = {name: set() for name in names}
    lines = [f"{name};" for name in quoted]
    for child, of in enumerate(found.values()):
        for parent in of:
            if parent < child:
                lines.append(f"{quoted[parent]}->{quoted[child]}")
                parents[names[child]].add(names[parent])
    assert sets(Diagram.from_dot("digraph{" + "\n".join(lines) + "}")) == parents


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "'-- b }'"),
        ("graph { a }", "'graph'"),
        ("digraph { a -> }", "'}'"),
        ("digraph { a -> b", "the end of the text"),
        ("digraph { a -> {b -> c} }", "'->'"),
        ("digraph { a -> b -> a }", "the cycle"),
        ("digraph { a -> a }", "the cycle a -> a"),
    ],
)
def test_dot_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Diagram.from_dot(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b]", "no mapping"),
        ("a: [b", "no YAML"),
        ("a: {b: c}", "no list of names at 'a'"),
        ("parents: {a: [b]}\nchildren: [c]", "the key 'children'"),
        ("a: [b]\nb: [c]\nc: [a]", "a -> "),
    ],
)
def test_yaml_that_cannot_be_read(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text)
    with pytest.raises(ParameterError) as caught:
        Diagram.read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_files_that_are_no_diagram(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"yaml, \.yml, \.gml"):
        Diagram.read(tmp_path / "a.png")
    with pytest.raises(FileError, match="check the path"):
        Diagram.read(tmp_path / "a.dot")
    with pytest.raises(ParameterError, match="no GML"):
        Diagram.from_gml("nothing")
    with pytest.raises(ParameterError, match="undirected"):
        Diagram.from_networkx(nx.Graph([("a", "b")]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("income: [sex, wage]", "'wage'; allowed: the table's columns: age, income, debt, job"),
        ("income: [sex, job=nurse]", "'job=nurse'"),
        ("sex: [age]\nincome: [sex]", "age as a cause of the attribute 'sex'"),
        ("parents: {income: [sex]}\nsensitive: job", "'job' as the attribute"),
        ("parents: {income: [sex]}\nresolving: [wage]", "'wage'"),
    ],
)
def test_a_diagram_must_fit_the_table(
    text: str, message: str, similar: SensitiveGraph, tmp_path: Path
) -> None:
    path = tmp_path / "diagram.yaml"
    path.write_text(text)
    with pytest.raises(FairgearError) as caught:
        fg.causal.named(str(path), similar)
    assert message in str(caught.value)


def test_a_diagram_makes_the_graphs_own_kind_of_model(
    similar: SensitiveGraph, people: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "diagram.yaml"
    path.write_text(YAML)
    model = fg.causal.named(str(path), similar)
    assert isinstance(model, SimilarityCausalModel)
    assert "given its causes in the diagram" in model.notes[0]
    assert any("city, owner" in note for note in model.notes)
    world = model.counterfactual(similar, 1)
    changed = [
        name
        for k, name in enumerate(similar.feature_names)
        if not torch.equal(world.x[:, k], similar.x[:, k])
    ]
    assert {name.partition("=")[0] for name in changed} == {"job", "income", "debt", "sex"}
    friends = pd.read_csv("examples/friends.csv")
    joined = fg.graph.from_tables(people, friends, label="approved", sensitive="sex")
    fitted = fg.causal.named(str(path), joined)
    assert isinstance(fitted, FittedCausalModel)
    fitted.save(tmp_path / "model")
    again = CausalModel.load(tmp_path / "model")
    expected = fitted.counterfactual(joined, 0, seed=2).fingerprint()
    assert again.counterfactual(joined, 0, seed=2).fingerprint() == expected
    assert again.notes == fitted.notes


def test_the_laws_hold_along_a_diagram(similar: SensitiveGraph) -> None:
    sequential = fg.causal.FeatureSequential(diagram=Diagram(PARENTS, resolving=["debt"]))
    assert len(check_causal_model(lambda: SimilarityCausalModel(sequential), similar)) == 6


def test_nothing_follows_from_an_attribute_without_arrows(similar: SensitiveGraph) -> None:
    diagram = Diagram({"income": ["age"], "debt": ["income"]})
    model = fg.causal.with_features(fg.causal.FeatureSequential(diagram=diagram), similar)
    assert any("nothing follows from the attribute" in note for note in model.notes)
    world = model.counterfactual(similar, 1)
    others = [k for k in range(similar.x.shape[1]) if k != similar.sens_column]
    assert torch.equal(world.x[:, others], similar.x[:, others])
