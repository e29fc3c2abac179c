"""Two models on one page: both verdicts, who gets what by which, and the people who differ."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fairgear.auditing import Audit, Worlds
from fairgear.report import render_page
from fairgear.report.sections.side_by_side import SideBySide, side_by_side
from fairgear.report.sections.verdict import verdict
from tests.auditing.models import CopiesSens, Features, measure, small_graph
from tests.report.example import HOSTILE, example, example_data, hostile, made
from tests.report.markup import Markup


@pytest.fixture(scope="module")
def audits() -> tuple[Audit, Audit]:
    worlds = Worlds(small_graph(300), draws=1)
    return measure(CopiesSens(), worlds), measure(Features(), worlds)


def sides(audit: Audit) -> SideBySide:
    found = side_by_side(audit)
    assert found is not None
    return found


def text_of(audit: Audit) -> str:
    return " ".join(Markup(render_page(audit)).text.split())


def test_both_verdicts_are_those_of_their_own_pages(audits: tuple[Audit, Audit]) -> None:
    first, second = audits
    found = sides(first.compared(second))
    for side, audit in zip(found.sides, audits, strict=True):
        own = verdict(audit)
        assert side.name == audit.model.name
        assert (side.verdict.level, side.verdict.title) == (own.level, own.title)
        assert (side.verdict.figure, side.verdict.accurate) == (own.figure, own.accurate)
        for words in (own.title, own.accurate):
            assert text_of(first.compared(second)).count(words) >= 1


def test_bars_and_sentences_are_the_counts_of_the_tables(audits: tuple[Audit, Audit]) -> None:
    first, second = audits
    found = sides(first.compared(second))
    one, other = (audit.people for audit in audits)
    text = text_of(first.compared(second))
    for number, (bar, move) in enumerate(zip(found.answers.rows, found.moves, strict=True)):
        here = (one["sens"] == number).to_numpy()
        a, b = (people["label"].to_numpy()[here] == 1 for people in (one, other))
        counts = [(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]
        assert [part.people for part in bar.parts] == counts
        assert bar.people == here.sum()
        assert f"{counts[1]} of {here.sum()} (" in move
        assert f"{counts[2]} of {here.sum()} (" in move
        assert move in text
        ends = np.cumsum(counts) / here.sum() * 100
        assert [part.at + part.length for part in bar.parts] == pytest.approx(ends, abs=0.02)
    assert found.flips is not None
    everybody = sum(part.people for bar in found.flips.rows for part in bar.parts[:2])
    assert everybody == (one["flip_strict_self"] == 1).sum() == len(one), "it copies the attribute"


def test_points_lie_where_their_scores_do(audits: tuple[Audit, Audit]) -> None:
    first, second = audits
    chart = sides(first.compared(second)).scatter
    low, high = (float(chart.x_ticks[end].text) for end in (0, -1))
    assert len(chart.marks) == len(first.people)
    for mark, score, other in zip(
        chart.marks, first.people["score"], second.people["score"], strict=True
    ):
        assert mark.x == pytest.approx(100 * (score - low) / (high - low), abs=0.01)
        bottom, top = (float(chart.y_ticks[end].text) for end in (0, -1))
        assert mark.y == pytest.approx(100 - 100 * (other - bottom) / (top - bottom), abs=0.01)
    assert chart.x_threshold == pytest.approx(100 * (0.5 - low) / (high - low), abs=0.01)
    labels = (first.people["label"] == 1, second.people["label"] == 1)
    assert sum(mark.kind == "first" for mark in chart.marks) == (labels[0] & ~labels[1]).sum()
    assert sum(mark.kind == "second" for mark in chart.marks) == (~labels[0] & labels[1]).sum()


def test_the_page_is_the_same_after_saving(audits: tuple[Audit, Audit], tmp_path: Path) -> None:
    both = audits[0].compared(audits[1])
    both.save(tmp_path)
    assert render_page(Audit.load(tmp_path)) == render_page(both)


def test_groups_and_answers_have_the_words_of_the_data() -> None:
    found = sides(example())
    assert [bar.group for bar in found.answers.rows] == ["women", "men"]
    assert found.flips is not None
    assert [bar.group for bar in found.flips.rows] == ["women"], "nobody else was asked"
    (person,) = found.people
    assert (person.name, person.group, person.label) == ("P0412", "men", "unknown")
    assert "P0412" in text_of(example())


def test_what_is_not_known_is_left_out() -> None:
    audit = example()
    assert audit.comparison is not None
    earlier = replace(audit, comparison=replace(audit.comparison, changes=None))
    assert side_by_side(earlier) is None
    assert "Measure by measure" not in text_of(earlier)
    assert "Where the line crosses 0" in text_of(earlier)
    alone = sides(audit)
    assert len(alone.sides) == 1
    assert math.isnan(alone.scatter.y_threshold)
    assert side_by_side(replace(audit, comparison=None)) is None


def test_hostile_names_are_text() -> None:
    page = Markup(render_page(made(hostile(example_data(), HOSTILE))))
    assert not [tag for tag, _ in page.tags if tag in ("img", "b onload")]
    numbers = [value for key in ("cx", "cy") for value in page.values(key)]
    assert numbers
    assert all(re.fullmatch(r"[\d.]+", value) for value in numbers)
