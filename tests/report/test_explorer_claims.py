"""What the explorer says of people is what the audit knows and counts, and no more."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import Audit
from fairgear.auditing.affected import NOT_EXAMINED
from fairgear.auditing.what_if import Part, Why
from fairgear.metrics.disagreement import Disagreement
from fairgear.report import render_page
from fairgear.report.numbers import group_words
from tests.report.example import example, example_data, made
from tests.report.markup import Markup
from tests.report.test_explorer import data_of, of_kind, section, what_if_of, with_what_if


def with_guesses(audit: Audit, *ids: int) -> Audit:
    """The same with a table of people in which the attribute of these is unknown."""
    every = tuple(
        replace(
            person,
            members=tuple(replace(m, guessed=m.node_id in ids) for m in person.members),
        )
        for person in what_if_of(audit).people
    )
    audit = with_what_if(audit, people=every)
    rows = [
        {
            "node_id": person.node_id,
            "y": person.y,
            "sens": person.members[0].sens,
            "sens_known": person.node_id not in ids,
            "score": person.states[0].score,
            "label": person.states[0].label,
            "flip_strict_self": 0.0,
        }
        for person in every
    ]
    return replace(audit, people=pd.DataFrame(rows))


def test_a_guessed_attribute_is_no_fact() -> None:
    data = example_data()
    data["names"]["attribute"] = "sex"
    data["affected"][1]["neighbors"][0] |= {"node_id": 1840, "sens": 0, "guessed": True}
    audit = with_guesses(made(data), 1840)
    listed = section(audit).people
    assert [one.group for one in listed[:2]] == ["sex unknown, taken as women", "men"]
    text = " ".join(Markup(render_page(audit)).text.split())
    assert text.count("sex unknown, taken as women") == 2
    shown = data_of(audit)
    assert shown["taken"] == "sex unknown, taken as"
    guessed = {one[0] for person in shown["people"] for one in person["members"] if one[4]}
    assert guessed == {"1840"}
    assert "1840 (sex unknown, taken as women): if" in shown["people"][1]["neighbors"][0]
    assert all(not one.group.startswith("sex") for one in section(made(data)).people)


def test_a_guessed_number_is_no_fact() -> None:
    audit = with_guesses(of_kind("number"), 1840)
    listed = section(audit).people
    assert [one.group for one in listed[:2]] == ["age unknown, taken as 20.5", "age 50.5"]


def predicted(by: float) -> Audit:
    """Of numbers, of which 20 is what counts: another own value alone moves them by so much."""
    audit = of_kind("regression")
    people = []
    for person in what_if_of(audit).people:
        first = person.states[0].label
        states = tuple(
            replace(one, score=first + by * (one.own >= 0), label=first + by * (one.own >= 0))
            for one in person.states
        )
        people.append(replace(person, states=states, why=None))
    audit = replace(audit, target=replace(audit.target, sd=200.0))
    return with_what_if(audit, people=tuple(people))


@pytest.mark.parametrize(
    ("by", "change", "why"),
    [
        (0.0, "stays", "The prediction stays when their own"),
        (19.5, "moves too little to count", "The prediction moves too little to count when"),
        (-19.5, "moves too little to count", "The prediction moves too little to count when"),
        (20.5, "→ 596.2", "What accounts for the other prediction was not"),
    ],
)
def test_a_number_is_another_where_the_audit_counts_it(by: float, change: str, why: str) -> None:
    audit = predicted(by)
    data = data_of(audit)
    assert data["counts"] == 20.0
    person, first = section(audit).people[0], data["people"][0]
    assert person.change == change
    assert first["why"][0].startswith(why)
    factual, other = what_if_of(audit).people[0].states[:2]
    counted = Disagreement(audit.target).changes(*np.array([[factual.label], [other.label]]))
    assert ("→" in person.change) == bool(counted.any())
    assert ("too little" in person.others[0]) == (0 < abs(by) < 20)


def test_numbers_are_predictions_and_classes_have_scores() -> None:
    assert data_of(example())["counts"] is None
    part = Part("gone", "12")
    for audit, words in ((example(), "score is 412.300"), (predicted(50), "prediction is 412.3")):
        people = what_if_of(audit).people
        explained = replace(people[0], why=Why((part,), 412.3, True, 1, own=1))
        shown = data_of(with_what_if(audit, people=(explained,)))["people"][0]
        assert f"With that alone the {words}. Every" in shown["why"][1]
    neighbor = shown["neighbors"][0]
    assert neighbor.endswith("the prediction would move by +0.041, which counts as another.")
    assert not re.search("answer|score", " ".join([*shown["why"], *shown["neighbors"]]))


def test_neighbours_without_effect_were_examined() -> None:
    data = example_data()
    for one in data["what_if"]["people"]:
        one["members"][0]["links"] = 8
    data["what_if"]["people"][5]["members"][0]["links"] = 9
    people = data_of(made(data))["people"]
    assert [one["neighbors"] and len(one["neighbors"]) for one in people] == [2] * 4 + [[]] * 2 + [
        None
    ] * 6
    assert {one["nobody"] for one in people[:4]} == {""}
    assert people[4]["nobody"] == "Examined: no neighbour alone moves the score."
    few = "the 8 neighbours with the fewest links"
    assert people[5]["nobody"] == f"Examined: of {few}, none alone moves the score."
    assert people[6]["nobody"] == "Not examined: this is done for the 6 people most affected."
    for affected, words in (data["affected"][4:5], "for the person most"), ([], "Not examined."):
        alone = data_of(made(data | {"affected": affected}))["people"][6]
        assert words in alone["nobody"]
    data["notes"] = [NOT_EXAMINED]
    for one in data["affected"]:
        one["neighbors"] = []
    for shown in data_of(made(data))["people"]:
        assert shown["neighbors"] is None
        assert shown["nobody"] == "Not examined: it takes worlds that were not computed."


def test_causal_models_that_are_not_credible_are_marked() -> None:
    data = example_data()
    rows = {row["model"]: row for row in data["causal_models"]["rows"]}
    rows["structure only"]["credibility"]["auroc"] = 0.97
    rows["quantile"]["credibility"]["auroc"] = 0.61
    # Of the example, the audit's own is not credible, and a part of it is no belief.
    said = [choice.text for choice in section(made(data)).controls[2].choices]
    assert said == ["this audit’s own, not credible", "quantile, not credible", "structure only"]
    assert data_of(made(data))["models"][1] == "causal model: quantile, not credible"
    rows["quantile"]["credibility"] = rows["own"]["credibility"] = None
    said = [choice.text for choice in section(made(data)).controls[2].choices]
    assert said == ["this audit’s own", "quantile", "structure only"]
    audit = replace(made(data), causal_models=None)
    assert [choice.text for choice in section(audit).controls[2].choices] == said


def test_groups_without_names_are_called_as_on_the_first_screen() -> None:
    data = example_data()
    data["names"] = {"groups": [], "classes": [], "attribute": "sex"}
    data["what_if"]["own"] = ["group 0", "group 1"]
    data["what_if"]["others"] = ["as they are", "all group 0", "half group 0, half group 1", "x"]
    audit = made(data)
    found, shown = section(audit), data_of(audit)
    assert found.people[0].group == group_words(0, audit.names) == "sex 0"
    assert found.people[0].others == ("1: answer 0, 0.466",)
    assert [choice.text for choice in found.controls[0].choices] == ["as it is", "0", "1"]
    assert [choice.text for choice in found.controls[1].choices][2] == "half 0, half 1"
    assert shown["groups"] == ["sex 0", "sex 1"]
    assert shown["own"] == ["0", "1"]
    assert shown["others"][1] == "neighbours: all 0"
    assert [one["theirs"] for one in shown["people"][:2]] == [[0], [1]]
    assert shown["people"][0]["why"][0].startswith("If only their own sex were 1, ")
    guessed = section(with_guesses(audit, 1840)).people[0].group
    assert guessed == "sex unknown, taken as sex 0"
