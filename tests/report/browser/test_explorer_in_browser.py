"""The explorer in a real browser: each control shows the world of the records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page

from fairgear.auditing import Audit
from fairgear.auditing.names import Names
from fairgear.auditing.what_if import ExplainedPerson, State, WhatIf
from fairgear.report.numbers import measure, plain
from tests.auditing.what_if.scene import result
from tests.report.browser.conftest import OpenPage
from tests.report.example import HOSTILE, example, example_data, made
from tests.report.test_explorer import KINDS, MARKS, of_kind, section
from tests.report.what_if_example import what_if_data

AXES = ("own", "others", "model", "dose")
NO_DATA = "No data: this combination was not computed."


def what_if_of(audit: Audit) -> WhatIf:
    assert audit.what_if is not None
    return audit.what_if


def headline(page: Page) -> str:
    return page.locator("#what-if-headline").inner_text()


def turn(page: Page, axis: str, value: int) -> None:
    """Set one control, whichever kind it is."""
    select = page.locator(f"#what-if-{axis}")
    if select.count():
        select.select_option(str(value))
    else:
        page.locator(f"[name=what-if-{axis}][value='{value}']").check()


def enter(page: Page, person: int, state: State) -> None:
    page.locator(f"#what-if-{person}").click()
    for axis in AXES:
        turn(page, axis, getattr(state, axis))


def attribute(value: float, names: Names) -> str:
    """A group or a number, as it is said of a person."""
    if names.number:
        return f"{names.number} {plain(float(f'{value:.4g}'))}"
    return names.groups[int(value)] if names.groups else f"{names.attribute} {int(value)}"


def rows(table: Locator) -> list[list[str]]:
    """Cells of a table's body, without the bars."""
    script = (
        "(t) => [...t.tBodies[0].rows].map((r) => [...r.cells].slice(0, 3).map(c => c.textContent))"
    )
    found: list[list[str]] = table.evaluate(script)
    return found


def expected_rows(what_if: WhatIf, person: ExplainedPerson, state: State) -> list[list[str]]:
    """What moves, from the records alone."""

    def words(place: int, value: float) -> str:
        levels = what_if.columns[place].levels
        return (
            levels[int(value)]
            if levels
            else plain(float(f"{value:.4g}") if value < 1000 else value)
        )

    before, after = person.features[0], person.features[state.features]
    found = [
        [what_if.columns[place].name, words(place, old), words(place, new)]
        for place, (old, new) in enumerate(zip(before, after, strict=True))
        if words(place, old) != words(place, new)
    ]
    return sorted(found)


def drawn(page: Page, which: str) -> dict[str, int]:
    links = page.locator(f"#what-if-{which} svg")
    return {kind: links.locator(f".link.{kind}").count() for kind in ("kept", "gone", "new")}


def check(page: Page, audit: Audit, person: ExplainedPerson, state: State) -> None:
    """What is shown is this state, by the records alone."""
    what_if = what_if_of(audit)
    factual = person.states[0]
    classes = audit.names.classes or ("answer 0", "answer 1")
    words = [
        f"{classes[int(one.label)]} (score {measure(one.score)})"
        for one in ((factual,) if state is factual else (factual, state))
    ]
    said = headline(page)
    assert " → ".join(words) in said
    assert str(person.node_id) in said
    if state is not factual:
        assert ("if their own" in said) == (state.own >= 0)
        assert ("neighbours: " in said) == (state.others > 0)
        assert ("causal model: " in said) == (state.model > 0)
        if state.others:
            others = what_if.others[state.others].replace("group ", "")
            assert f"neighbours: {others}" in said
        if state.model:
            assert f"causal model: {what_if.models[state.model]}" in said
        dose = f"{100 * what_if.doses[state.dose]:g} % of the difference"
        assert (dose in said) == (state.dose > 0)
    changes = state.label != factual.label
    assert ("changes" in page.locator("#what-if-verdict").inner_text()) == changes
    links = person.links[state.links]
    kept = len(person.edges) - len(links.gone)
    assert drawn(page, "before") == {"kept": kept, "gone": len(links.gone), "new": 0}
    assert drawn(page, "after") == {"kept": kept, "gone": 0, "new": len(links.new)}
    counted = page.locator("#what-if-links .counts").inner_text()
    assert counted == f"{kept} kept, {len(links.gone)} gone, {len(links.new)} new."
    tables = page.locator("#what-if-features table").all()
    seen = [row for table in tables for row in rows(table)]
    assert sorted(seen) == expected_rows(what_if, person, state)
    after = person.attributes[state.attributes][0]
    shown = page.locator("#what-if-after-name").inner_text()
    assert shown == f"As it would be: {attribute(after, audit.names)}"


def test_every_computed_world_is_shown_as_the_records_have_it(open_page: OpenPage) -> None:
    audit = example()
    opened = open_page(audit)
    for place in (0, 3):
        person = what_if_of(audit).people[place]
        for state in person.states:
            enter(opened.page, place, state)
            check(opened.page, audit, person, state)
    assert opened.complaints() == []


def few(person: ExplainedPerson) -> Iterator[State]:
    """Every place of every control, and some more: numbers have a hundred worlds."""
    seen: set[tuple[str, int]] = set()
    for number, state in enumerate(person.states):
        places = {(axis, getattr(state, axis)) for axis in AXES}
        if number % 10 == 0 or not places <= seen:
            yield state
        seen |= places


@pytest.mark.parametrize("kind", ["directed", "groups", "number"])
def test_worlds_that_an_audit_computed_are_shown(open_page: OpenPage, kind: str) -> None:
    audit = result(kind)
    opened = open_page(audit)
    person = what_if_of(audit).people[0]
    for state in few(person):
        enter(opened.page, 0, state)
        check(opened.page, audit, person, state)
    arrows = opened.page.locator("#what-if-before .arrow").count()
    assert arrows == (len(person.edges) if kind == "directed" else 0)
    assert opened.violations() == []
    assert opened.complaints() == []


def test_figures_are_written_as_everywhere_on_the_page(open_page: OpenPage) -> None:
    figures = (-1234.5, 98765.4, 1e6, 12.0, -0.5, 0.123456, 0.00012345, -0.0000123456, 1.5e-12)
    data = example_data()
    world = data["what_if"]
    world["columns"] = [
        {"name": f"column {place}", "low": -1.0, "high": 1.0, "levels": []}
        for place in range(len(figures))
    ]
    for person in world["people"]:
        person["features"] = [[7.0] * len(figures), list(figures)]
        for state in person["states"]:
            state["features"] = int(state["own"] >= 0)
    page = open_page(made(data)).page
    seen = [row for table in page.locator("#what-if-features table").all() for row in rows(table)]
    wanted = [[f"column {place}", "7", plain(value)] for place, value in enumerate(figures)]
    assert sorted(seen) == wanted


def test_both_drawings_have_everybody_at_the_same_place(open_page: OpenPage) -> None:
    page = open_page(example()).page
    script = (
        "(id) => [...document.querySelectorAll(id + ' .mark')]"
        ".map((mark) => mark.getAttribute('transform'))"
    )
    before, after = (page.evaluate(script, f"#what-if-{which}") for which in ("before", "after"))
    places = [[one.split(" scale")[0] for one in side] for side in (before, after)]
    assert places[0] == places[1]
    assert len(places[0]) == len(what_if_of(example()).people[0].members)


def test_a_combination_that_was_not_computed_says_so(open_page: OpenPage) -> None:
    audit = example()
    person = what_if_of(audit).people[0]
    computed = {(s.own, s.others, s.model, s.dose) for s in person.states}
    wanted = (person.states[1].own, 2, 1, 0)
    assert wanted not in computed
    page = open_page(audit).page
    page.locator("#what-if-0").click()
    for axis, value in zip(AXES, wanted, strict=True):
        turn(page, axis, value)
    assert NO_DATA in page.locator("#what-if-nothing").inner_text()
    assert "No data" in headline(page)
    # No picture of another world stays.
    assert not page.locator("#what-if-shown").is_visible()
    label = page.locator("label", has=page.locator("[name=what-if-others][value='1']"))
    assert "no data here" in label.inner_text()
    page.get_by_role("button", name="Show the nearest that was").click()
    assert page.locator("#what-if-shown").is_visible()
    world = tuple(
        int(page.locator(f"[name=what-if-{axis}]:checked").get_attribute("value") or "")
        for axis in AXES
    )
    assert world in computed
    # The control that was turned last is kept wherever it can be.
    assert world[3] == 0
    assert sum(a != b for a, b in zip(world, wanted, strict=True)) == 1


def test_their_own_value_is_as_it_is(open_page: OpenPage) -> None:
    audit = example()
    person = what_if_of(audit).people[0]
    page = open_page(audit).page
    turn(page, "own", int(person.attributes[0][0]))
    assert headline(page).endswith("as it is")
    label = page.locator("label", has=page.locator(f"[name=what-if-own][value='{0}']"))
    assert "theirs" in label.inner_text()


def test_a_value_that_was_never_computed_says_so(open_page: OpenPage) -> None:
    audit = example()
    what_if = what_if_of(audit)
    audit = replace(audit, what_if=replace(what_if, models=(*what_if.models, "transport")))
    page = open_page(audit).page
    label = page.locator("label", has=page.locator("[name=what-if-model][value='3']"))
    assert "not computed" in label.inner_text()
    turn(page, "model", 3)
    assert NO_DATA in page.locator("#what-if-nothing").inner_text()


def test_the_threshold_cuts_the_scores_that_were_computed(open_page: OpenPage) -> None:
    audit = example()
    what_if = what_if_of(audit)
    page = open_page(audit).page
    slider = page.locator("#what-if-cut")
    low, high = (float(slider.get_attribute(end) or "") for end in ("min", "max"))
    person = what_if.people[0]
    factual, other = person.states[:2]
    for cut in (low, (factual.score + other.score) / 2, high):
        slider.evaluate(
            "(one, cut) => { one.value = cut;"
            "one.dispatchEvent(new Event('input', { bubbles: true })); }",
            cut,
        )
        taken = float(slider.input_value())
        words = [
            f"{audit.names.classes[int(one.score > taken)]} (score {measure(one.score)})"
            for one in (factual, other)
        ]
        assert " → ".join(words) in headline(page)
        assert "the model’s own" not in page.locator("#what-if-cut-text").inner_text()
    page.locator("#what-if-cut-reset").click()
    assert audit.names.classes[int(factual.label)] + " (score" in headline(page)
    assert page.locator("#what-if-cut-text").inner_text() == "0.500, the model’s own"


def test_search_finds_people_and_tells_how_many(open_page: OpenPage) -> None:
    audit = example()
    what_if = what_if_of(audit)
    page = open_page(audit).page
    name = str(what_if.people[7].node_id)
    page.locator("#what-if-search").fill(name)
    assert page.locator("#what-if-people [role=option]:visible").count() == 1
    assert page.locator("#what-if-found").inner_text() == f"1 of {len(what_if.people)} people"
    page.keyboard.press("Enter")
    assert headline(page).startswith(f"Person {name},")
    page.locator("#what-if-search").fill("nobody of that name")
    assert page.locator("#what-if-found").inner_text() == f"0 of {len(what_if.people)} people"


@pytest.mark.parametrize("width", [1280, 390])
def test_keyboard_alone_changes_every_control(open_page: OpenPage, width: int) -> None:
    opened = open_page(example(), width=width)
    page = opened.page
    page.locator("#what-if-search").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "what-if-people"
    first = headline(page)
    page.keyboard.press("ArrowDown")
    assert headline(page) != first
    active = page.locator("#what-if-people").get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("End")
    assert page.locator("[role=option][aria-selected=true]").get_attribute("id") == "what-if-11"
    page.keyboard.press("Home")
    assert headline(page) == first
    for axis in AXES:
        page.keyboard.press("Tab")
        chosen = "document.activeElement.name + document.activeElement.value"
        before = page.evaluate(chosen)
        page.keyboard.press("ArrowDown")
        assert page.evaluate(chosen).startswith(f"what-if-{axis}")
        assert page.evaluate(chosen) != before
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert "the model’s own" not in page.locator("#what-if-cut-text").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert "the model’s own" in page.locator("#what-if-cut-text").inner_text()
    assert opened.complaints() == []


def test_the_address_leads_back(open_page: OpenPage) -> None:
    audit = example()
    person = what_if_of(audit).people[4]
    page = open_page(audit).page
    enter(page, 4, person.states[4])
    said = headline(page)
    hash = page.evaluate("location.hash")
    world = f"{person.states[4].own}.{person.states[4].others}.0.0"
    assert hash == f"#person={person.node_id}&world={world}"
    assert page.locator("#what-if-link").get_attribute("href") == hash
    again = open_page(audit, hash=hash).page
    assert headline(again) == said
    # The same page follows when the address changes.
    enter(page, 0, person.states[0])
    assert headline(page) != said
    page.evaluate("(hash) => { location.hash = hash; }", hash)
    page.wait_for_function(
        "(said) => document.querySelector('#what-if-headline').textContent === said", arg=said
    )


def test_the_list_shows_whom_a_link_leads_to(open_page: OpenPage) -> None:
    audit = example()
    person = what_if_of(audit).people[-1]
    page = open_page(audit, width=390, hash=f"#person={person.node_id}").page
    inside = page.locator("[role=option][aria-selected=true]").evaluate(
        "(one) => { const [a, b] = [one, one.closest('[role=listbox]')].map("
        "(box) => box.getBoundingClientRect()); return a.top >= b.top && a.bottom <= b.bottom; }"
    )
    assert inside


def test_a_link_keeps_the_threshold(open_page: OpenPage) -> None:
    audit = example()
    id = what_if_of(audit).people[2].node_id
    page = open_page(audit, hash=f"#person={id}&world=-1.0.0.0&cut=0.45").page
    assert page.locator("#what-if-cut-text").inner_text() == "0.45"
    assert page.locator("#what-if-cut").input_value() == "0.45"


@pytest.mark.parametrize(
    ("hash", "words"),
    [
        ("#person=1840&world=7.0.0.0", "a world that this page does not have"),
        ("#person=1840&world=x", "a world that this page does not have"),
    ],
)
def test_a_link_to_what_is_not_there_says_so(open_page: OpenPage, hash: str, words: str) -> None:
    opened = open_page(example(), hash=hash)
    assert words in headline(opened.page)
    assert not opened.page.locator("#what-if-shown").is_visible()
    assert opened.complaints() == []


def test_without_a_script_there_is_the_table(open_page: OpenPage) -> None:
    page = open_page(example(), java_script_enabled=False).page
    assert not page.locator("#what-if").is_visible()
    assert page.locator("#what-if-table table").is_visible()


def test_the_table_is_printed(open_page: OpenPage) -> None:
    page = open_page(example()).page
    assert not page.locator("#what-if-table table").is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("#what-if-table table").is_visible()
    assert page.locator("#what-if-after svg").is_visible()
    assert not page.locator("#what-if-people").is_visible()


def _hostile() -> dict[str, Any]:
    data = example_data()
    data["names"] = {"groups": [MARKS, HOSTILE], "classes": [HOSTILE, MARKS], "attribute": HOSTILE}
    world = data["what_if"] = what_if_data()
    world["own"], world["others"] = [MARKS, HOSTILE], [HOSTILE, MARKS, "x", "y"]
    world["models"] = [HOSTILE, MARKS, "x"]
    for column in world["columns"]:
        column |= {"name": MARKS, "levels": [HOSTILE] * 3 if column["levels"] else []}
    for person in world["people"]:
        person["node_id"] = f"{MARKS}{person['node_id']}"
        for member in person["members"]:
            member["node_id"] = HOSTILE
    return data


def test_names_full_of_markup_are_text_in_every_world(open_page: OpenPage) -> None:
    audit = made(_hostile())
    opened = open_page(audit)
    page = opened.page
    for state in what_if_of(audit).people[0].states:
        enter(page, 0, state)
        # As they are written, and direction marks by their numbers.
        assert "‹U+202E›reversed" in headline(page)
        assert "</script><!-- & \"'" in headline(page)
        assert not set("\u202e\u2066") & set(page.locator("#what-if").inner_text())
        assert page.locator("#what-if script, #what-if style").count() == 0
    hash = page.evaluate("location.hash")
    assert headline(open_page(audit, hash=hash).page) == headline(page)
    assert quote("</script>", safe="") in hash
    assert opened.complaints() == []


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_labels_and_graphs_of_every_kind(open_page: OpenPage, kind: str) -> None:
    audit = of_kind(kind)
    opened = open_page(audit)
    page = opened.page
    first, second = what_if_of(audit).people[:2]
    for place, states in enumerate((first.states, few(second))):
        for state in states:
            enter(page, place, state)
            said = headline(page)
            assert "No data" not in said
            assert "undefined" not in said
            if kind == "number" and state.own >= 0:
                assert "if their own age were" in said
                assert "another value" not in said
            if kind == "regression":
                assert plain(float(f"{state.label:.4g}")) in said
            else:
                assert measure(state.score) in said
    assert page.locator("#what-if-before .arrow").count() == (
        page.locator("#what-if-before .link").count() if kind == "directed" else 0
    )
    has_cut = section(audit).threshold is not None
    assert page.locator("#what-if-cut").count() == has_cut
    assert opened.violations() == []
    assert opened.complaints() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_data_is_open_to_everybody(open_page: OpenPage, dark: bool) -> None:
    opened = open_page(example(), width=390, dark=dark, hash="#person=1840&world=1.2.2.2")
    assert NO_DATA in opened.page.locator("#what-if-nothing").inner_text()
    assert opened.violations() == []
    inner, outer = opened.page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert inner <= outer
