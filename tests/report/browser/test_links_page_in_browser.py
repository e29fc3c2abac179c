"""The page of an audit of links in a browser: quiet, readable by all, never wider than a phone."""

from __future__ import annotations

import pytest

from fairgear.report import render_links_page
from tests.report.browser.conftest import OpenPage
from tests.report.example import HOSTILE
from tests.report.links_example import hostile_audit, link_audit, named

WIDTHS = (1280, 390)
OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_quiet_and_open_to_everybody(
    open_page: OpenPage, width: int, dark: bool
) -> None:
    opened = open_page(render_links_page(named()), width=width, dark=dark)
    opened.page.evaluate(OPEN_ALL)
    assert opened.violations() == []
    assert opened.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("hostile", [False, True])
def test_the_page_never_scrolls_sideways(open_page: OpenPage, width: int, hostile: bool) -> None:
    audit = hostile_audit() if hostile else link_audit("categorical", "directed")
    page = open_page(render_links_page(audit), width=width).page
    page.evaluate(OPEN_ALL)
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    inner, outer = page.evaluate(widths)
    assert inner <= outer


def test_names_full_of_markup_are_text(open_page: OpenPage) -> None:
    opened = open_page(render_links_page(hostile_audit()))
    assert HOSTILE in opened.page.locator("body").inner_text()
    assert opened.page.locator("script").count() == 1
    assert opened.complaints() == []


def test_a_persons_lists_unfold(open_page: OpenPage) -> None:
    page = open_page(render_links_page(named())).page
    people = page.locator("details.lists")
    assert people.nth(0).locator("ol").first.is_visible()
    second = people.nth(1)
    assert not second.locator("ol").first.is_visible()
    second.locator("summary").click()
    assert second.locator("ol").first.is_visible()
