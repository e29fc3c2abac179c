"""Two models on one page and where the numbers come from, as a reader has them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from fairgear.auditing import Audit, Worlds
from tests.auditing.models import CopiesSens, Features, measure, small_graph
from tests.report.browser.conftest import OpenPage
from tests.report.example import HOSTILE, example


@pytest.fixture(scope="module")
def compared() -> Audit:
    worlds = Worlds(small_graph(300), draws=1)
    first, second = (measure(model, worlds) for model in (CopiesSens(), Features()))
    return replace(first.compared(second), provenance=example().provenance)


@pytest.fixture(scope="module")
def results(compared: Audit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(compared.to_dict()))
    return found


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_two_models_are_quiet_and_open_to_everybody(
    open_page: OpenPage, compared: Audit, width: int, dark: bool
) -> None:
    hostile = replace(compared, names=replace(compared.names, groups=(HOSTILE, "b")))
    opened = open_page(hostile, width=width, dark=dark)
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert opened.violations() == []
    assert opened.complaints() == []
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    inner, outer = opened.page.evaluate(widths)
    assert inner <= outer


def test_tables_show_the_numbers_of_the_results(
    open_page: OpenPage, compared: Audit, results: dict[str, Any]
) -> None:
    section = open_page(compared).page.locator("#comparison")
    changes = results["comparison"]["changes"]
    for part, label in (("answers", "Answers of both"), ("flips", "Changes with the own value")):
        table = section.get_by_role("region", name=label).locator("tbody tr")
        for place, group in enumerate(changes["groups"]):
            cells = table.nth(place).locator("td").all_inner_texts()
            counts = [group[part][key] for key in ("both", "first", "second", "neither")]
            assert [int(cell) for cell in cells] == [sum(counts), *counts]
    people = section.get_by_role("region", name="People on whom").locator("tbody tr")
    assert people.count() == len(changes["people"]) == 20
    for place, person in enumerate(changes["people"]):
        row = people.nth(place)
        assert row.locator("th").inner_text() == str(person["node_id"])
        shown = [float(cell) for cell in row.locator("td.n").all_inner_texts()]
        expected = [person[key] for key in ("first_score", "second_score", "apart")]
        assert shown == pytest.approx(expected, abs=0.0006)
    assert section.locator(".field svg circle, .field svg path").count() == len(changes["points"])
    panels = section.locator(".sides .panel")
    assert [text.split("\n")[0] for text in panels.all_inner_texts()] == [
        *("First: CopiesSens", "Second: Features")
    ]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_hash_is_whole_and_selected_at_once(
    open_page: OpenPage, compared: Audit, width: int
) -> None:
    page = open_page(compared, width=width).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    hashes = page.locator("#provenance .hash")
    assert compared.provenance is not None
    assert hashes.all_inner_texts() == [file.sha256 for file in compared.provenance.files]
    hashes.first.click()
    assert page.evaluate("getSelection().toString()") == compared.provenance.files[0].sha256
    assert page.locator(".typed").inner_text() == compared.provenance.command
