"""What the explorer is given to show is what the records say."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from fairgear.auditing import Audit
from fairgear.auditing.what_if import ExplainedPerson, Links, Member, Part, WhatIf, Why
from fairgear.graph.targets import MULTICLASS, REGRESSION, Target
from fairgear.report import render_page
from fairgear.report.sections.ego import positions
from fairgear.report.sections.explorer import Explorer, explorer_section
from tests.report.example import HOSTILE, example, example_data, made
from tests.report.markup import Markup
from tests.report.what_if_example import what_if_data

MARKS = "\u202ereversed\u2028line\u2066 </script><!-- & \"'"


def what_if_of(audit: Audit) -> WhatIf:
    assert audit.what_if is not None
    return audit.what_if


def section(audit: Audit) -> Explorer:
    return explorer_section(audit, what_if_of(audit))


def data_of(audit: Audit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(section(audit).data)
    return found


def with_what_if(audit: Audit, **changes: Any) -> Audit:
    return replace(audit, what_if=replace(what_if_of(audit), **changes))


def pairs(flat: list[int]) -> list[tuple[int, int]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def test_every_state_is_that_of_the_records() -> None:
    audit = example()
    data = data_of(audit)
    what_if = what_if_of(audit)
    assert [column[0] for column in data["columns"]] == [one.name for one in what_if.columns]
    assert len(data["people"]) == len(what_if.people)
    for shown, person in zip(data["people"], what_if.people, strict=True):
        assert shown["id"] == str(person.node_id)
        assert pairs(shown["edges"]) == [tuple(edge) for edge in person.edges]
        assert [one[0] for one in shown["members"]] == [str(one.node_id) for one in person.members]
        assert [one[3] for one in shown["members"]] == [one.links for one in person.members]
        assert shown["attributes"] == [list(row) for row in person.attributes]
        assert shown["hidden"] == person.hidden
        assert len(shown["states"]) == len(person.states)
        for row, state in zip(shown["states"], person.states, strict=True):
            assert row[:4] == [state.own, state.others, state.model, state.dose]
            assert row[4] == pytest.approx(state.score, rel=1e-8)
            assert row[5:] == [state.label, state.features, state.links, state.attributes]
        for row, links in zip(shown["links"], person.links, strict=True):
            assert list(map(pairs, row)) == [
                [tuple(pair) for pair in side] for side in (links.gone, links.new)
            ]
        for row, values in zip(shown["features"][1:], person.features[1:], strict=True):
            moved = dict(pairs(row))
            for place, value in enumerate(values):
                seen = moved.get(place, shown["features"][0][place])
                # Four digits, and all those before the point.
                assert seen == pytest.approx(value, rel=5e-4, abs=0.5 * (abs(value) >= 1000))


def test_the_value_that_somebody_has_is_as_it_is() -> None:
    audit = example()
    for shown, person in zip(data_of(audit)["people"], what_if_of(audit).people, strict=True):
        assert shown["theirs"] == [int(person.attributes[0][0])]


def test_the_value_that_somebody_has_is_known_without_its_name() -> None:
    # Two groups, whatever they are called; of several, the words tell where few were asked about.
    audit = with_what_if(example(), own=("x", "y"))
    assert [one["theirs"] for one in data_of(audit)["people"][:3]] == [[0], [1], [0]]
    audit = with_what_if(example(), own=("men", "women", "others"))
    assert [one["theirs"] for one in data_of(audit)["people"][:3]] == [[], [], []]
    audit = with_what_if(example(), own=("women", "men", "others"))
    assert [one["theirs"] for one in data_of(audit)["people"][:3]] == [[0], [1], [0]]


def test_no_name_ends_the_data_or_hides() -> None:
    data = example_data()
    data["names"] = {"groups": [MARKS, HOSTILE], "classes": [HOSTILE, MARKS]}
    world = data["what_if"]
    world["own"], world["models"] = [MARKS, HOSTILE], [MARKS, HOSTILE, "x"]
    world["columns"][0] = world["columns"][0] | {"name": MARKS}
    world["columns"][2] = world["columns"][2] | {"levels": [MARKS, HOSTILE, "</script>"]}
    world["people"][0]["node_id"] = MARKS
    world["people"][0]["members"][1]["node_id"] = HOSTILE
    source = render_page(made(data))
    page = Markup(source)
    assert source.count("<script") == source.count("</script") == 2
    assert not re.search("[\u202e\u2066]", source)
    (text,) = re.findall(r'id="what-if-data">(.*?)</script>', source, flags=re.S)
    assert text.isascii()
    assert not set("<>&") & set(text)
    shown = json.loads(text)["people"][0]
    assert shown["id"].startswith("‹U+202E›reversed")
    assert shown["members"][1][0] == HOSTILE
    assert "‹U+202E›reversed" in page.text


def test_members_stand_apart_and_the_person_in_the_middle() -> None:
    person = what_if_of(example()).people[0]
    many = replace(
        person,
        members=tuple(Member(place, place % 2, 3) for place in range(41)),
        edges=tuple((0, place) for place in range(1, 41)),
        links=(Links((), ()),),
        states=person.states[:1],
    )
    for one in (person, many, replace(many, members=many.members[:1], edges=())):
        found = positions(one)
        assert found == positions(one)
        assert found[0] == (0, 0)
        assert len(set(found)) == len(one.members)
        assert all(math.hypot(x, y) <= 101 for x, y in found)
    for count in range(2, 30):
        few = replace(many, members=many.members[:count], edges=many.edges[: count - 1])
        assert all(y < 50 or abs(x) > 2 for x, y in positions(few))
    near = [math.dist(a, b) for a in positions(many) for b in positions(many) if a != b]
    assert min(near) > 10


def test_who_is_linked_under_other_causal_models_alone_stands_further_out() -> None:
    person = what_if_of(example()).people[0]
    strange = replace(
        person,
        members=tuple(Member(place, 0, 1) for place in range(5)),
        edges=((0, 1), (2, 3)),
        links=(Links((), ()), Links((), ((0, 2),)), Links((), ((0, 3), (0, 4)))),
        states=(
            person.states[0],
            replace(person.states[1], links=1),
            replace(person.states[1], model=1, links=2),
        ),
    )
    far = [math.hypot(x, y) for x, y in positions(strange)]
    assert max(far[1:3]) < 80
    assert min(far[3:]) > 95


def test_members_that_are_linked_stand_side_by_side() -> None:
    person = what_if_of(example()).people[0]
    chain = replace(
        person,
        members=tuple(Member(place, 0, 1) for place in range(9)),
        edges=((1, 5), (5, 2), (2, 7)),
        links=(Links((), ()),),
        states=person.states[:1],
    )
    found = positions(chain)
    side = min(math.dist(found[1], other) for other in found[2:])
    for a, b in chain.edges:
        assert math.dist(found[a], found[b]) == pytest.approx(side, abs=2)


def test_why_is_said_in_words() -> None:
    audit = example()
    people = what_if_of(audit).people
    flipped = next(place for place, person in enumerate(people) if person.why)
    first, second = data_of(audit)["people"][flipped]["why"]
    own = what_if_of(audit).own[1 - int(people[flipped].attributes[0][0])]
    assert first.startswith(f"If only their own sensitive attribute were {own}, 2 of the 5 things")
    assert "income from 31,250 to −12.35; the link with" in first
    assert second.endswith("Every smaller set was tried, and none is enough.")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Part("feature", "job", "clerk", "nurse"), "job from clerk to nurse"),
        (Part("gone", "12"), "the link with 12 goes"),
        (Part("new", "12"), "a new link with 12"),
        (Part("weight", "12", "0.5", "2"), "the weight of the link with 12 from 0.5 to 2"),
        (Part("around", ""), "what changes for other people"),
    ],
)
def test_each_part_has_words(part: Part, words: str) -> None:
    audit = example()
    people = what_if_of(audit).people
    explained = (replace(people[0], why=Why((part,), 0.4, False, 1, own=1)),)
    first, second = data_of(with_what_if(audit, people=explained))["people"][0]["why"]
    assert first.endswith(f"the one thing that moves is enough for the other answer: {words}.")
    assert second.endswith("It was found step by step: a smaller set may exist.")


def test_why_without_an_account_says_so() -> None:
    audit = example()
    person = next(p for p in what_if_of(audit).people if p.why)
    changes = {
        "was not examined": replace(person, why=None),
        "Nothing was computed": replace(person, why=None, states=person.states[:1]),
        "nothing to account for": replace(
            person,
            why=None,
            states=(person.states[0], replace(person.states[1], label=person.states[0].label)),
        ),
    }
    for words, one in changes.items():
        (said,) = data_of(with_what_if(audit, people=(one,)))["people"][0]["why"]
        assert words in said


def test_neighbours_that_matter_are_those_of_the_affected() -> None:
    audit = example()
    people = {one["id"]: one for one in data_of(audit)["people"]}
    for affected in audit.affected:
        said = people[str(affected.node_id)]["neighbors"]
        assert len(said) == len(affected.neighbors)
        for sentence, neighbor in zip(said, affected.neighbors, strict=True):
            assert sentence.startswith(f"{neighbor.node_id} ")
            assert ("would change." in sentence) == neighbor.flips


@pytest.mark.parametrize("threshold", [0.5, 0.2536528773564917, 17.0])
def test_the_threshold_can_reach_every_score(threshold: float) -> None:
    data = example_data()
    data["model"]["threshold"] = threshold
    audit = made(data)
    own, low, high, step = data_of(audit)["cut"]
    scores = [state.score for person in what_if_of(audit).people for state in person.states]
    assert own == threshold
    assert low <= min(*scores, own)
    assert high >= max(*scores, own)
    assert 20 <= (high - low) / step <= 400


def of_kind(kind: str) -> Audit:
    """The example with labels, or an attribute, of another kind."""
    data = example_data()
    if kind == "groups":
        data["names"] = {"groups": ["Asian", "Black", "White"], "classes": [], "attribute": "race"}
        data["graph"]["sensitive_rate"] = None
        data["what_if"]["own"] = ["Asian", "Black", "White"]
        return made(data)
    if kind == "number":
        groups = [f"{low} to {low + 9}" for low in (18, 28, 38, 48, 58)]
        levels = [20.0, 30.0, 40.0, 50.0, 60.0]
        data["names"] = {"groups": groups, "classes": [], "number": "age", "levels": levels}
        data["what_if"]["own"] = ["another value"]
        data["flips"] = []
        for person in data["what_if"]["people"]:
            person["why"] = person["why"] and person["why"] | {"own": 0}
            person["attributes"] = [[20.5 + 30 * v for v in row] for row in person["attributes"]]
            for state in person["states"]:
                state["own"] = min(state["own"], 0)
        return made(data)
    audit = made(data)
    if kind == "directed":
        return with_what_if(audit, directed=True)
    classes = ("low", "middle", "high") if kind == "multiclass" else ()
    model = replace(audit.model, threshold=math.nan)
    target = Target(MULTICLASS if classes else REGRESSION, classes)
    audit = replace(audit, model=model, target=target, names=replace(audit.names, classes=classes))
    if classes:
        return audit
    errors = dict.fromkeys(("rmse", "mae", "r2_prediction"), 0.4)
    ends = dict.fromkeys(errors, audit.intervals["accuracy"])
    figures = dict.fromkeys(("mean label", "mean prediction", "mean residual"), 12.5)
    summaries = tuple(replace(one, figures=figures) for one in audit.groups)
    audit = replace(
        audit,
        metrics=audit.metrics | errors,
        intervals=audit.intervals | ends,
        groups=summaries,
        margins=(),
    )
    return with_what_if(audit, people=tuple(map(_predicted, what_if_of(audit).people)))


def _predicted(person: ExplainedPerson) -> ExplainedPerson:
    states = tuple(
        replace(state, score=1000 * state.score, label=1000 * state.score)
        for state in person.states
    )
    return replace(person, y=12.5, states=states)


KINDS = ("groups", "number", "multiclass", "regression", "directed")


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_labels_and_graphs_of_every_kind(kind: str) -> None:
    audit = of_kind(kind)
    found, data = section(audit), data_of(audit)
    assert data["directed"] == (kind == "directed")
    assert (data["cut"] is None) == (kind in ("multiclass", "regression"))
    assert (data["reach"] is not None) == (kind == "number")
    first = found.people[0]
    if kind == "groups":
        assert first.group == "Asian"
        assert found.controls[0].title == "Their own race"
    if kind == "number":
        assert first.group == "age 20.5"
        assert data["reach"] == [20.5, 50.5]
        assert first.others == ("50.5: answer 0, 0.466",)
    if kind == "multiclass":
        assert data["answers"][:2] == ["low", "middle"]
    if kind == "regression":
        assert data["answers"] == []
        assert first.known == "12.5"
        assert first.answer == "575.7"


def test_the_table_holds_each_person_as_it_is_and_would_be() -> None:
    audit = example()
    text = " ".join(Markup(render_page(audit)).text.split())
    for person in what_if_of(audit).people:
        other = person.states[1]
        words = audit.names.classes[int(other.label)]
        assert f"{what_if_of(audit).own[other.own]}: {words}, {other.score:.3f}" in text


def test_a_control_of_one_value_says_so() -> None:
    audit = with_what_if(example(), doses=(1.0,), models=("similarity",))
    text = " ".join(Markup(render_page(audit)).text.split())
    assert "Only “100 %” was computed." in text
    assert "Only “this audit’s own” was computed." in text
    assert "Doses were computed for people's own value alone" in text


def test_a_page_of_sixty_people_stays_light() -> None:
    data = example_data()
    world = data["what_if"] = what_if_data(60, members=40)
    world["columns"] = [
        {"name": f"column {place}", "low": 0.0, "high": 2.0, "levels": []} for place in range(18)
    ]
    for person in world["people"]:
        person["edges"] = [[a, b] for a in range(20) for b in range(a + 1, 40) if (a + b) % 3 == 0]
        one = person["states"][1]
        # Sixty worlds, each with features and links of its own.
        person["states"] += [one | {"features": at, "links": at} for at in range(50)]
        person["features"] = [
            [math.sin(18 * at + place) for place in range(18)] for at in range(50)
        ]
        person["links"] = [
            {"gone": [[0, b] for b in range(1, 11)], "new": [[b, b + 1] for b in range(20, 30)]}
        ] * 50
    assert len(render_page(made(data)).encode()) < 1_500_000
