"""The section on the groups: the table, the four-fifths line, and small charts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import Audit
from fairgear.auditing.names import Names
from fairgear.graph.attributes import Attribute
from fairgear.graph.targets import Target
from fairgear.metrics import UNDEFINED, Interval
from fairgear.report import render_page
from fairgear.report.sections.group_curves import FEWEST, SHOWN, group_curves
from fairgear.report.sections.groups import _four_fifths, group_section
from tests.report.example import HOSTILE, example, example_data, hostile, made
from tests.report.markup import Markup


def people(n: int = 300, groups: int = 2, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    score = rng.random(n)
    return pd.DataFrame(
        {
            "sens": np.arange(n) % groups,
            "y": np.where(rng.random(n) < 0.1, -1, rng.random(n) < score).astype(np.int64),
            "score": score,
            "label": (score > 0.5).astype(np.int64),
        }
    )


def with_people(table: pd.DataFrame, **changes: Any) -> Audit:
    return replace(example(), people=table, **changes)


@pytest.mark.parametrize(
    ("value", "ends", "said"),
    [
        (0.7, Interval(0.6, 0.79), ("▼", "under 4/5")),
        (0.7, Interval(0.6, 0.8), ("▽", "under 4/5, not surely")),
        (0.799, UNDEFINED, ("▽", "under 4/5, not surely")),
        (0.8, Interval(0.8, 0.9), ("✓", "over 4/5")),
        (0.8 - 1e-15, Interval(0.8, 0.9), ("✓", "over 4/5")),
        (0.9, Interval(0.79, 1.1), ("○", "over 4/5, not surely")),
        (float("nan"), UNDEFINED, ("", "")),
    ],
)
def test_the_side_of_the_line_is_said_in_words_and_by_a_sign(
    value: float, ends: Interval, said: tuple[str, str]
) -> None:
    assert _four_fifths(value, ends) == said


def test_a_group_below_the_line_is_marked_on_the_page() -> None:
    data = example_data()
    data["groups"][0] |= {"impact_ratio": 0.612}
    data["groups"][0]["intervals"]["impact_ratio"] = [0.5, 0.7]
    page = Markup(render_page(made(data)))
    assert "0.6120.500 to 0.700▼under4/5" in "".join(page.text.split()).replace(
        "0.500to0.700", "0.500 to 0.700"
    )
    assert sum("below-line" in of for of in page.values("class")) == 1
    assert "highest rate" in page.text


def test_people_of_unknown_attribute_are_a_line_of_their_own() -> None:
    *_, last = group_section(example()).blocks
    (line,) = last.lines
    assert (line.name, line.people) == ("sensitive attribute unknown", "12")
    assert line.cells[1].value == "not compared"


def test_crossed_attributes_stand_before_their_groups() -> None:
    data = example_data()
    (one, other), (unknown,) = data["groups"], data["margins"]
    data["margins"] = [
        *({**one, "group": code, "attribute": "race"} for code in (0, 1)),
        *({**other, "group": code, "attribute": "sex"} for code in (0, 1)),
        unknown,
    ]
    audit = replace(
        made(data),
        names=Names(
            ("a, f", "b, m"),
            attribute="race, sex",
            attributes=(Attribute("race", ("a", "b")), Attribute("sex", ("f", "m"))),
            cells=((0, 0), (1, 1)),
        ),
    )
    blocks = group_section(audit).blocks
    assert [(block.title, [line.name for line in block.lines]) for block in blocks] == [
        ("race", ["a", "b"]),
        ("sex", ["f", "m"]),
        ("race and sex together", ["a, f", "b, m"]),
        ("", ["race and sex unknown"]),
    ]
    assert "race and sex together" in Markup(render_page(audit)).text


def test_without_other_worlds_no_figure_is_of_them() -> None:
    data = example_data()
    assert "delta_cf" in [column.key for column in group_section(made(data)).columns]
    for group in data["groups"]:
        group["delta_cf"] = None
    assert "delta_cf" not in [column.key for column in group_section(made(data)).columns]


def test_equal_rates_are_told_with_how_often_chance_does_that() -> None:
    (said,) = group_section(example()).tests
    assert "12.8 % of samples (χ² 2.31, 1 degree of freedom" in said


def test_without_people_nothing_is_drawn_and_that_is_said() -> None:
    text = Markup(render_page(example())).text
    assert "this page was made without the people" in text


def test_scores_roc_and_calibration_are_drawn_for_each_group() -> None:
    audit = with_people(people())
    page = Markup(render_page(audit))
    summaries = [label for label in page.values("aria-label") if label.startswith("women: ")]
    assert len(summaries) == 3
    median = audit.people.loc[audit.people["sens"] == 0, "score"].median()
    assert f"the median is {median:.4g}." in summaries[0]
    for chart in group_curves(audit).charts:
        assert [panel.title for panel in chart.panels] == ["women", "men"]
        for panel in chart.panels:
            numbers = [float(of) for of in (panel.area + panel.line).replace(",", " ").split()]
            assert len(numbers) <= 2 * 84
            assert min(numbers) >= 0
            assert max(numbers) <= 100


def test_the_dot_of_an_roc_curve_is_at_the_rates_of_the_threshold() -> None:
    audit = with_people(people())
    panel = group_curves(audit).charts[1].panels[0]
    of = audit.people[(audit.people["sens"] == 0) & (audit.people["y"] >= 0)]
    expected = [100 * of.loc[of["y"] == label, "label"].mean() for label in (0, 1)]
    assert panel.dots[0] == pytest.approx(expected, abs=0.01)


def test_few_people_have_no_chart_but_are_named() -> None:
    table = people()
    table.loc[FEWEST - 1 :, "sens"] = 1
    table.loc[: FEWEST - 2, "sens"] = 0
    for chart in group_curves(with_people(table)).charts:
        assert [panel.title for panel in chart.panels] == ["men"]
        assert chart.few[0].startswith("women (")


def test_people_whose_attribute_is_a_guess_are_in_no_groups_chart() -> None:
    table = people()
    table["sens_known"] = table.index < 200
    scores = group_curves(with_people(table)).charts[0]
    assert [panel.caption.split(",")[0] for panel in scores.panels] == ["100 people"] * 2


def test_many_groups_are_folded() -> None:
    data = example_data()
    data["groups"] = [{**data["groups"][0], "group": group} for group in range(SHOWN + 3)]
    data["names"] = {"groups": [f"g{group}" for group in range(SHOWN + 3)], "classes": []}
    audit = replace(made(data), people=people(600, SHOWN + 3))
    for chart in group_curves(audit).charts:
        assert len(chart.shown) == SHOWN
        assert len(chart.folded) == 3
    assert "3 more" in Markup(render_page(audit)).text


def test_scores_that_are_no_probabilities_have_no_calibration() -> None:
    table = people()
    table["score"] = 10 * table["score"] - 5
    scores, _, calibration = group_curves(with_people(table)).charts
    assert "no probabilities" in calibration.missing
    assert next(tick.text for tick in scores.ticks).startswith("−4.9")


def test_without_labels_only_scores_are_drawn() -> None:
    scores, roc, calibration = group_curves(with_people(people().assign(y=-1))).charts
    assert len(scores.panels) == 2
    assert roc.missing
    assert calibration.missing


def test_several_answers_have_no_roc_and_numbers_have_residuals() -> None:
    table = people()
    classes = with_people(table, target=Target("multiclass", ("a", "b", "c")))
    scores, roc, calibration = group_curves(classes).charts
    assert scores.panels
    assert roc.missing
    right = (table["label"] == table["y"])[(table["sens"] == 0) & (table["y"] >= 0)]
    assert np.mean([y for _, y in calibration.panels[0].dots]) == pytest.approx(
        100 * right.mean(), abs=2
    )
    number = with_people(table.astype(np.float64), target=Target("regression", ()))
    names = [chart.name for chart in group_curves(number).charts]
    assert names == ["How predictions are distributed", "How residuals are distributed"]


def test_hostile_names_are_text_in_every_chart() -> None:
    source = render_page(replace(made(hostile(example_data())), people=people()))
    # The page's own, and the data of the explorer.
    assert source.count("<script") == 2
    assert HOSTILE.split("'")[0] in Markup(source).text
