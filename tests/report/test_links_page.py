"""The page of an audit of links."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import stat
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairgear.links import LINK_METRICS, GivenLinks, LinkAudit, audit_links, split_links
from fairgear.metrics import UNDEFINED, Interval
from fairgear.report import render_links_page
from fairgear.report.numbers import measure, percent
from fairgear.report.sections.link_lists import list_section
from fairgear.report.sections.link_verdict import MEANINGS, link_verdict
from fairgear.testing import toy_graph
from tests.report.example import HOSTILE
from tests.report.links_example import hostile_audit, link_audit, named
from tests.report.markup import Markup

Shares = tuple[float, float, float]


def with_figures(either: Shares, everybody: Shares) -> LinkAudit:
    """The example with other shares of flips, each with its interval."""
    audit = named()
    figures = {"delta_cf_either": either, "delta_cf": everybody}
    values = {key: value for key, (value, _, _) in figures.items()}
    ends = {
        key: UNDEFINED if math.isnan(low) else Interval(low, high)
        for key, (_, low, high) in figures.items()
    }
    return replace(
        audit, metrics=audit.metrics | values, intervals=audit.intervals | ends, references=()
    )


@pytest.mark.parametrize(
    ("sens", "links"),
    [("binary", "undirected"), ("categorical", "directed"), ("continuous", "weighted")],
)
def test_a_page_is_whole_and_asks_for_nothing(sens: str, links: str) -> None:
    audit = link_audit(sens, links)
    page = render_links_page(audit)
    found = Markup(page)
    ids = found.values("id")
    assert len(ids) == len(set(ids))
    linked = [one["href"] for one in found.all("a")]
    assert {one.removeprefix("#") for one in linked} <= set(ids)
    for section in ("verdict", "people", "exposure", "cells", "flips", "measures", "reading"):
        assert f"#{section}" in linked
    assert not found.values("src")
    assert all(one.startswith("#") for one in linked)
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert len(script) == 1
    assert f"script-src 'sha256-{digest}'" in page
    assert page == render_links_page(audit)


def test_every_measure_is_shown() -> None:
    audit = link_audit()
    text = " ".join(Markup(render_links_page(audit)).text.split())
    for key, value in audit.metrics.items():
        if not math.isnan(value):
            assert f"{LINK_METRICS[key].label} {measure(value)}" in text
            assert MEANINGS[key] in text
    assert set(MEANINGS) == {*LINK_METRICS}
    for cell in audit.cells:
        assert percent(cell.rate) in text


def test_lists_say_who_entered_and_who_left() -> None:
    audit = named()
    assert audit.lists is not None
    shown = list_section(audit, audit.lists)
    for one, person in zip(audit.lists.people, shown.people, strict=True):
        factual, *others = person.columns
        before = [str(who.person) for who in one.factual]
        assert [entry.name for entry in factual.entries] == before
        assert person.group == ("men", "women")[one.group]
        missing = dict.fromkeys(before, 0)
        for world, column in zip(one.worlds, others, strict=True):
            after = [str(who.person) for who in world.listed]
            assert [entry.name for entry in column.entries] == after
            new = [entry.name for entry in column.entries if entry.new]
            assert new == [name for name in after if name not in before]
            assert column.moved == len(new)
            assert {entry.name for entry in column.left} == {*before} - {*after}
            for name in {*before} - {*after}:
                missing[name] += 1
        worlds = len(one.worlds)
        said = {0: "", worlds: "leaves"}
        expected = [said.get(missing[n], f"leaves {missing[n]} of {worlds}") for n in before]
        assert [entry.leaves for entry in factual.entries] == expected
    assert any(entry.leaves for one in shown.people for entry in one.columns[0].entries)
    text = Markup(render_links_page(audit)).text
    assert all(f"{column.moved} of 4 are new" in text for column in shown.people[0].columns[1:])


def test_exposure_is_shown_for_every_group_and_world() -> None:
    audit = named()
    assert audit.lists is not None
    shown = list_section(audit, audit.lists)
    assert len(shown.rows) == len(audit.lists.exposure)
    for row, one in zip(shown.rows, audit.lists.exposure, strict=True):
        assert row[1] == ("men", "women")[one.group]
        assert row[2:5] == (percent(one.candidates), percent(one.share), measure(one.relative))
    first = shown.exposure[0]
    assert first.title == "As it is"
    assert [dot.label for dot in first.dots] == ["men", "women"]


@pytest.mark.parametrize(
    ("either", "everybody", "level", "title"),
    [
        ((0.6, 0.4, 0.8), (0.1, 0.05, 0.2), "decides", "Predicts links by sex"),
        ((0.01, 0.0, 0.03), (0.2, 0.15, 0.3), "strong", "Predicted links depend strongly on sex"),
        ((0.05, 0.03, 0.08), (0.0, 0.0, 0.02), "depends", "Predicted links depend on sex"),
        ((0.1, 0.0, 0.4), (0.0, 0.0, 0.02), "unsure", "Too few pairs to tell"),
        ((0.01, 0.0, 0.03), (0.0, 0.0, 0.02), "few", "Few predicted links depend on sex"),
        ((0.0, 0.0, 0.03), (0.0, 0.0, 0.02), "none", "No difference larger than 3.0 % could hide"),
        ((math.nan,) * 3, (math.nan,) * 3, "unknown", "Not known: whether predicted links"),
    ],
)
def test_the_verdict_follows_the_more_severe_figure(
    either: Shares,
    everybody: Shares,
    level: str,
    title: str,
) -> None:
    found = link_verdict(with_figures(either, everybody))
    assert found.level == level
    assert found.title.startswith(title)
    if level in ("decides", "strong", "depends", "few"):
        assert f"{percent(either[0])} of predictions change when one person’s sex" in found.figure
        assert f"{percent(everybody[0])} when everybody’s is" in found.figure


def test_a_model_that_predicts_the_same_for_all_pairs_is_no_alike_one() -> None:
    audit = with_figures((0.0, 0.0, 0.02), (0.0, 0.0, 0.02))
    none = dict.fromkeys(("delta_cf_both_ends", "delta_cf_neighbours"), 0.0)
    audit = replace(audit, pairs=audit.pairs.assign(label=1), metrics=audit.metrics | none)
    assert link_verdict(audit).title == "Predicts the same for every pair"
    # The same for all pairs as they are; in other worlds some are others.
    moved = replace(audit, metrics=audit.metrics | {"delta_cf": 0.001})
    found = link_verdict(moved)
    assert (found.level, found.title) == ("few", "Few predicted links depend on sex")
    both = replace(audit, metrics=audit.metrics | {"delta_cf_both_ends": 0.1})
    assert "the same for every pair" not in link_verdict(both).title


def test_cells_are_shown_by_how_much_they_change() -> None:
    found = link_verdict(named())
    shares = [one.share for one in found.affected]
    assert shares == sorted(shares, reverse=True)
    names = {"men and men", "men and women", "women and women"}
    assert {one.group for one in found.affected} == names
    arcs = link_verdict(link_audit("categorical", "directed"))
    assert all("→" in one.group for one in arcs.affected)
    assert len(arcs.affected) + arcs.more == 9


def test_names_full_of_markup_are_text() -> None:
    found = Markup(render_links_page(hostile_audit()))
    assert HOSTILE in found.text
    assert len(found.all("script")) == 1
    assert len(found.all("style")) == 1


def test_scores_alone_have_a_page_without_worlds(tmp_path: Path) -> None:
    split = split_links(toy_graph())
    source, target = split.graph.node_id[split.test.ends].numpy()
    table = pd.DataFrame({"source": source, "target": target, "score": 0.5 + 0.1 * source % 2})
    audit = audit_links(GivenLinks(table, threshold=0.7), split)
    audit.save_html(tmp_path / "page.html")
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == render_links_page(audit)
    found = Markup(page)
    assert "Not known: whether predicted links change" in found.text
    assert not {"people", "exposure", "flips", "training"} & set(found.values("id"))


def test_a_page_is_the_same_after_saving(tmp_path: Path) -> None:
    audit = link_audit("categorical", "directed")
    audit.save(tmp_path)
    assert render_links_page(LinkAudit.load(tmp_path)) == render_links_page(audit)
