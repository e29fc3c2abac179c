"""The whole page as a reader has it: nothing leaves, nothing breaks, everybody can use it."""

from __future__ import annotations

import pytest

from tests.report.browser.conftest import OpenPage
from tests.report.example import HOSTILE, example, example_data, hostile, made

WIDTHS = (1280, 390)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_is_quiet_and_open_to_everybody(open_page: OpenPage, width: int, dark: bool) -> None:
    opened = open_page(example(), width=width, dark=dark)
    opened.page.get_by_role("button", name="Contents").or_(
        opened.page.locator("details.contents > summary")
    ).first.wait_for()
    opened.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert opened.violations() == []
    assert opened.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_never_scrolls_sideways(open_page: OpenPage, width: int) -> None:
    page = open_page(example(), width=width).page
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    widths = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    inner, outer = page.evaluate(widths)
    assert inner <= outer


def test_names_full_of_markup_are_text(open_page: OpenPage) -> None:
    opened = open_page(made(hostile(example_data())))
    assert HOSTILE in opened.page.locator("body").inner_text()
    # A script that a name smuggled in would be a second one.
    running = "[...document.scripts].filter((one) => one.type !== 'application/json').length"
    assert opened.page.evaluate(running) == 1
    assert opened.page.evaluate("document.querySelectorAll('style').length") == 1
    assert opened.complaints() == []


def test_a_page_that_asks_for_something_is_caught(open_page: OpenPage) -> None:
    # The tests above must be able to fail.
    opened = open_page(
        '<!DOCTYPE html><html lang="en"><title>x</title><img src="https://example.org/x.png">'
        "<script>console.error('broken')</script></html>"
    )
    opened.page.wait_for_timeout(100)
    told = " ".join(opened.complaints())
    assert "example.org" in told
    assert "broken" in told
    assert opened.violations()


def test_sections_fold_and_links_unfold_them(open_page: OpenPage) -> None:
    page = open_page(example()).page
    page.get_by_role("button", name="Fold all", exact=True).click()
    assert page.locator("details.fold[open]").count() == 0
    page.locator(".contents a", has_text="Flips").click()
    page.locator("#flips > details.fold[open]").wait_for()
    page.get_by_role("button", name="Unfold all").click()
    assert page.locator("details.fold:not([open])").count() == 0


def test_contents_follow_the_reader(open_page: OpenPage) -> None:
    page = open_page(example()).page
    page.locator("#flips").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('flips').scrollIntoView()")
    page.locator(".contents a[aria-current][href='#flips']").wait_for()


def test_printing_opens_what_is_folded(open_page: OpenPage) -> None:
    page = open_page(example()).page
    page.get_by_role("button", name="Fold all", exact=True).click()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.fold[open]").count() == 0


def test_keyboard_alone_reaches_every_control(open_page: OpenPage) -> None:
    page = open_page(example()).page
    controls = (
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]"
        ".filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility())"
    )
    page.evaluate(f"{controls}.forEach((one, place) => one.dataset.place = place)")
    count = page.evaluate(f"{controls}.length")
    reached = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.place"))
    # Of radio buttons, only the chosen one of a group is a stop.
    missed = page.evaluate(
        f"(reached) => {controls}.filter((one) => one.type !== 'radio' &&"
        " !reached.includes(one.dataset.place)).map((one) => one.outerHTML.slice(0, 120))",
        sorted(reached - {None}),
    )
    assert missed == []
