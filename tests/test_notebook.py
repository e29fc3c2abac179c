from __future__ import annotations

import re

import pytest
import torch

from fairgear.auditing import Audit, audit
from fairgear.methods import METHODS, Gear, Method
from fairgear.notebook import as_table
from fairgear.report.sections.verdict import verdict
from fairgear.testing.toy_graphs import toy_graph
from fairgear.text import visible
from tests.auditing.models import CopiesSens, small_graph
from tests.report.example import HOSTILE, example, example_data, hostile, made
from tests.report.markup import Markup


def text_of(shown: str) -> str:
    # Cells are apart for those who see them.
    page = Markup(re.sub("(</t[hd]>|</b>|<br>)", r" \1 ", shown))
    assert {tag for tag, _ in page.tags} <= {
        "table",
        "caption",
        "b",
        "br",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert not [name for _, found in page.tags for name in found if name not in ("style", "scope")]
    return " ".join(page.text.split())


def test_text_is_text_and_marks_can_be_seen() -> None:
    shown = as_table("<b>t</b>", [("a<script>", 'x"&\u202eevil', "y")], ["s\x1b[31m"])
    text = text_of(shown)
    assert "<b>t</b>" in text
    assert "a<script>" in text
    assert 'x"&‹U+202E›evil' in text
    assert "s‹U+001B›[31m" in text
    assert visible("Zoë 日本 🦊\n") == "Zoë 日本 🦊\n"


def test_colours_are_those_of_the_notebook() -> None:
    for shown in (example()._repr_html_(), toy_graph()._repr_html_(), Gear()._repr_html_()):
        colours = set(re.findall(r"#[0-9a-f]{3,8}\b", shown))
        assert colours <= {"#8886"}, "lines are half transparent; all else inherits"
        assert "color:inherit" in shown


def test_a_graph_says_what_it_holds() -> None:
    graph = small_graph(120)
    text = text_of(graph._repr_html_())
    counts = torch.bincount(graph.sens).tolist()
    for part in (
        "SensitiveGraph synthetic",
        "people 120",
        f"edges {graph.num_undirected_edges}",
        f"s (0: {counts[0]}; 1: {counts[1]})",
        f"{int(graph.train_mask.sum())} train, {int(graph.val_mask.sum())} validation, "
        f"{int(graph.test_mask.sum())} test",
        f"label (0: {int((graph.y == 0).sum())}; 1: {int((graph.y == 1).sum())})",
        f"features {graph.x.shape[1]}: ",
        "and 18 more",
    ):
        assert part in text, part


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sens": "categorical"}, "group (a "),
        ({"sens": "continuous"}, "age, a number: 2"),
        ({"links": "directed"}, "arcs "),
        ({"links": "weighted"}, "edges, with weights "),
        ({"kind": "multiclass"}, "label (a: "),
        ({"kind": "regression"}, "a number, mean "),
    ],
)
def test_graphs_of_every_kind(given: dict[str, str], said: str) -> None:
    graph = toy_graph(**given)
    text = text_of(graph._repr_html_())
    if said == "group (a ":
        assert graph.attributes is not None
        said = f"{graph.attributes.name} ({graph.attributes.names[0]}: "
    assert said in text
    assert f"{int((~(graph.y >= 0)).sum())} unknown" in text


def test_people_whose_attribute_is_unknown_are_in_no_group() -> None:
    known = torch.arange(160) % 4 > 0
    graph = toy_graph().replace(sens_known=known)
    text = text_of(graph._repr_html_())
    counts = torch.bincount(graph.sens[known]).tolist()
    assert f"(0: {counts[0]}; 1: {counts[1]}; 40 unknown)" in text


def test_an_empty_graph_has_a_name() -> None:
    graph = toy_graph()
    del graph.x
    assert text_of(graph._repr_html_()) == repr(graph).removesuffix("()") == "SensitiveGraph"


def test_a_method_says_its_settings_and_whether_it_is_fitted() -> None:
    method = METHODS["logistic"](seed=3)
    assert "not fitted" in text_of(method._repr_html_())
    assert "seed 3" in text_of(method._repr_html_())
    method.fit(toy_graph())
    text = text_of(method._repr_html_())
    assert f"fitted to 2 classes and 2 groups, threshold {method.threshold_:.4g}" in text
    changed = text_of(Gear(dropout=0.4, steps=7)._repr_html_())
    assert "dropout 0.4 default 0.2" in changed
    assert "steps 7 default 300" in changed
    assert "dim 64 default" not in changed


@pytest.mark.parametrize("name", [str(name) for name in METHODS])
def test_every_method_can_be_shown(name: str) -> None:
    method: Method = METHODS[name]()
    text = text_of(method._repr_html_())
    for setting, value in method.config.to_dict().items():
        assert f"{setting}." in text if isinstance(value, dict) else f"{setting} {value!r}" in text


def test_an_audit_begins_with_its_verdict_and_has_every_measure() -> None:
    found = audit(CopiesSens(), small_graph(120), other_causal_models=False, affected_people=0)
    text = text_of(found._repr_html_())
    said = verdict(found)
    assert text.startswith("CopiesSens on synthetic, ")
    for words in (said.title, said.figure, said.accurate):
        assert words in text
    assert len(re.findall(r" interval ", text)) >= sum(
        one.defined for one in found.intervals.values()
    )


def test_hostile_names_are_text() -> None:
    shown: Audit = made(hostile(example_data(), HOSTILE))
    text_of(shown._repr_html_())
