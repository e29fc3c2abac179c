"""What the explorer says in a real browser is no more than is known."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from fairgear.text import visible
from tests.report.browser.conftest import OpenPage
from tests.report.browser.test_explorer_in_browser import enter, headline, what_if_of
from tests.report.example import example, example_data, made
from tests.report.test_explorer_claims import predicted, with_guesses


def verdict(page: Page) -> str:
    return page.locator("#what-if-verdict").inner_text()


def test_a_guessed_attribute_is_no_fact(open_page: OpenPage) -> None:
    data = example_data()
    data["names"]["attribute"] = "sex"
    audit = with_guesses(made(data), 1840)
    page = open_page(audit).page
    guess = "sex unknown, taken as women"
    for state in what_if_of(audit).people[0].states:
        enter(page, 0, state)
        assert headline(page).startswith(f"Person 1840, {guess}: ")
        assert page.locator("#what-if-before-name").inner_text() == f"As it is: {guess}"
        after = page.locator("#what-if-after-name").inner_text()
        # A value that was set is no guess.
        assert after == f"As it would be: {'men' if state.own >= 0 else guess}"
    title = page.locator("#what-if-before .node title").first.text_content() or ""
    assert title.startswith(f"1840, {guess}, ")
    enter(page, 1, what_if_of(audit).people[1].states[0])
    assert headline(page).startswith("Person 1877, men: ")
    assert guess in page.locator("#what-if-0").inner_text()


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (0.0, "The prediction stays."),
        (19.5, "The prediction moves by 19.5, less than counts as another."),
        (-1.25, "The prediction moves by 1.25, less than counts as another."),
        (20.5, "The prediction changes."),
    ],
)
def test_a_number_changes_where_the_audit_counts_it(
    open_page: OpenPage, by: float, words: str
) -> None:
    audit = predicted(by)
    page = open_page(audit).page
    enter(page, 0, what_if_of(audit).people[0].states[1])
    assert verdict(page).startswith(words)
    assert page.locator("#what-if.changes").count() == (by > 20)


def test_neighbours_without_effect_were_examined(open_page: OpenPage) -> None:
    audit = example()
    page = open_page(audit).page
    for place, words in ((4, "Examined: "), (7, "Not examined: ")):
        page.locator(f"#what-if-{place}").click()
        assert page.locator("#what-if-neighbors").inner_text().startswith(words)


def test_a_link_to_nobody_says_no_more(open_page: OpenPage) -> None:
    opened = open_page(example(), hash="#person=P99&world=1.0.0.0&cut=0.45")
    page = opened.page
    assert headline(page) == "No data: nobody called P99 is among these people"
    assert page.locator("#what-if .one").inner_text().strip() == headline(page)
    assert page.locator("#what-if-people [aria-selected=true]").count() == 0
    assert page.locator("#what-if-people").get_attribute("aria-activedescendant") is None
    assert opened.violations() == []
    # From there the list, the search and another link lead to people.
    page.locator("#what-if-people").focus()
    page.keyboard.press("ArrowDown")
    assert headline(page).startswith("Person 1840, women: ")
    assert page.locator("#what-if .controls").is_visible()
    assert page.locator("#what-if-link").is_visible()
    for key in ("Enter", "ArrowDown"):
        page.evaluate("location.hash = '#person=nobody'")
        page.get_by_text("nobody called nobody is among").wait_for()
        page.locator("#what-if-search").fill("1877")
        page.locator("#what-if-search").press(key)
        assert headline(page).startswith("Person 1877, men: ")
    assert opened.complaints() == []


def test_marks_in_a_link_are_written_out(open_page: OpenPage) -> None:
    marks = "\u202ea\u2066\u0007\u2028\ue000\U000e0001\u200d"
    page = open_page(example(), hash=f"#person={quote(marks)}").page
    said = page.locator("#what-if-headline").evaluate("(one) => one.textContent")
    assert said == f"No data: nobody called {visible(marks)} is among these people"
    assert not set(marks[:-1]) & set(said) - {"a"}


def test_a_link_by_a_name_with_marks_leads_to_its_person(open_page: OpenPage) -> None:
    data = example_data()
    data["what_if"]["people"][1]["node_id"] = "\u202eevil"
    page = open_page(made(data), hash=f"#person={quote(chr(0x202E))}evil").page
    assert headline(page).startswith("‹U+202E›evil, men: ")
