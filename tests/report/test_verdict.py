"""The verdict: severe where the model is, in the words of the data, and no more than is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fairgear.auditing import Audit, Worlds, audit
from fairgear.causal import attribute_only
from fairgear.graph import SensitiveGraph, from_tables, split
from fairgear.metrics import UNDEFINED, Interval
from fairgear.report import render_page
from fairgear.report.sections.severity import LEVELS, severity
from fairgear.report.sections.verdict import verdict
from tests.report.example import example
from tests.report.markup import Markup

PEOPLE = pd.read_csv("examples/people.csv")


@cache
def worlds() -> Worlds:
    graph = from_tables(PEOPLE, label="approved", sensitive="sex", similarity=0.7)
    return Worlds(split(graph, seed=0))


def copying(graph: SensitiveGraph) -> Tensor:
    return 0.1 + 0.8 * graph.sens.float()


def constant(graph: SensitiveGraph) -> Tensor:
    return 0.7 + 0 * graph.sens.float()


def by_chance(graph: SensitiveGraph) -> Tensor:
    return (graph.node_id * 7919 % 101) / 101


@cache
def audited(model: Callable[[SensitiveGraph], Tensor], family: bool = False) -> Audit:
    return audit(model, worlds(), other_causal_models=family, affected_people=0)


def text_of(found: Audit) -> str:
    return " ".join(Markup(render_page(found)).text.split())


def test_a_model_that_copies_the_attribute_is_said_to_decide_by_it() -> None:
    found = verdict(audited(copying))
    assert (found.level, found.colour) == ("decides", "red")
    assert found.title == "Decides by sex"
    assert found.figure == "100 % of answers change when a person’s own sex changes"
    assert found.sentences[0] == (
        "That is with all that follows from it; 95 % interval 93.7 % to 100 %."
    )
    assert [one.group for one in found.affected] == ["female", "male"]
    assert "would get “approved: yes”" in found.affected[0].words
    assert "0 % would lose it" in found.affected[0].words
    text = text_of(audited(copying))
    assert text.index("Decides by sex: 100 %") < text.index("How large that is")


def test_its_own_figures_are_the_reference_of_everybody_elses() -> None:
    """What copying and a constant are said to measure is what audits of both measure."""
    for name, one in audited(by_chance).references.items():
        for expected, model in ((one.copying, copying), (one.constant, constant)):
            found = audited(model).metrics.get(name, math.nan)
            if name in ("auroc", "accuracy") and model is copying:
                found = max(found, 1 - found)
            if name == "accuracy" and model is constant:
                found = max(found, 1 - found)
            if not math.isnan(expected) and not math.isnan(found):
                assert found == pytest.approx(expected), (name, model)


def test_a_model_that_ignores_everybody_hides_no_large_difference() -> None:
    found = verdict(audited(by_chance, family=True))
    assert found.level in ("none", "unsure")
    told = f"{found.figure} {found.sentences[0]}"
    assert "0 %" in told


def test_the_same_answer_for_everybody_is_no_merit() -> None:
    found = verdict(audited(constant))
    assert found.title == "Gives everybody the same answer"
    assert found.colour == "grey"


def test_without_worlds_nothing_is_said_of_what_would_change() -> None:
    graph = worlds().graph
    same = attribute_only(graph, graph.sens * 0)
    found = audit(by_chance, same)
    said = verdict(found)
    assert said.level == "unknown"
    assert said.title == "Not known: whether answers change with sex"
    assert not [one for one in said.gauges if one.title != "Right answers"]
    assert "What would change in other worlds was not measured" in text_of(found)


@pytest.mark.parametrize(
    ("value", "ends", "level"),
    [
        (1.0, (0.97, 1.0), "decides"),
        (0.5, (0.45, 0.55), "decides"),
        (1.0, None, "decides"),
        (0.6, (0.05, 0.99), "depends"),
        (0.3, (0.2, 0.4), "strong"),
        (0.3, (0.01, 0.6), "unsure"),
        (0.06, (0.03, 0.09), "depends"),
        (0.006, (0.001, 0.014), "few"),
        (0.0, (0.0, 0.04), "none"),
        (0.0, (0.0, 0.3), "unsure"),
        (0.0, None, "unsure"),
        (math.nan, None, "unknown"),
    ],
)
def test_severity(value: float, ends: tuple[float, float] | None, level: str) -> None:
    assert severity(value, UNDEFINED if ends is None else Interval(*ends)) == level


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.4), st.floats(0, 0.4))
def test_more_changes_are_never_judged_milder(
    value: float, below: float, above: float, more: float, wider: float
) -> None:
    """A larger share whose whole interval is higher; and none is milder for being less certain."""
    ends = Interval(max(0.0, value - below), min(1.0, value + above))
    higher = Interval(min(1.0, ends.low + more), min(1.0, ends.high + more))
    order = LEVELS.index
    assert order(severity(min(1.0, value + more), higher)) <= order(severity(value, ends))
    unsure = Interval(ends.low, min(1.0, ends.high + wider))
    assert order(severity(value, unsure)) <= order(severity(value, ends))


def test_the_most_severe_figure_decides_but_not_bounds_that_no_credible_model_has() -> None:
    found = example()
    assert verdict(found).title.startswith("Answers depend")
    assert "under another causal model" in verdict(found).figure
    assert found.causal_models is not None
    doubtful = replace(found, causal_models=replace(found.causal_models, credible=0))
    said = verdict(doubtful)
    assert said.level == "few"
    assert any("none of those" in one for one in said.would_change)


def test_what_would_change_the_verdict_names_figures() -> None:
    said = " ".join(verdict(example()).would_change)
    assert "0.6 % of answers change under this audit’s own, 10.4 % under “quantile”" in said
    assert "if nothing but its own column, 0 %" in said


def test_names_that_steer_are_written_out() -> None:
    found = example()
    names = replace(found.names, attribute="sex\u202e", groups=("wo\u2066men", "men\x1b[31m"))
    text = text_of(replace(found, names=names))
    assert "\u202e" not in text
    assert "‹U+202E›" in text
    assert "‹U+001B›[31m" in text
