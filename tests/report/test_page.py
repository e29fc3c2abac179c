from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairgear.auditing import Audit
from fairgear.causal import for_graph
from fairgear.datasets import load
from fairgear.errors import FileError
from fairgear.metrics import METRICS, UNDEFINED, Interval
from fairgear.report import render_page, write_page
from fairgear.report.numbers import between, measure, percent, signed
from fairgear.report.sections.groups import group_section
from tests.report.example import HOSTILE, example, example_data, hostile, made, undefined
from tests.report.markup import Markup

SECTIONS = [
    *("verdict", "explorer", "comparison", "groups", "flips", "causal-models", "causal-model"),
    *("measures", "generator", "training", "notes", "settings", "provenance", "reading"),
]
# Parts that an audit may lack, and the sections that go with them.
OPTIONAL: dict[str, tuple[Any, list[str]]] = {
    "comparison": (None, ["comparison"]),
    "causal_models": (None, ["causal-models"]),
    "diagnostics": (None, ["causal-model"]),
    "training": (None, ["generator", "training"]),
    "notes": ([], ["notes"]),
    "flips": ([], []),
    "probes": (None, []),
    "provenance": (None, []),
    "config": ({}, []),
    "names": ({"groups": [], "classes": []}, []),
}


def test_without_an_explorer_the_most_affected_have_a_section() -> None:
    ids = Markup(render_page(example(what_if=None))).values("id")
    assert "affected" in ids
    assert "explorer" not in ids
    ids = Markup(render_page(example(what_if=None, affected=[]))).values("id")
    assert "affected" not in ids


def test_the_section_of_the_most_affected_says_who_was_guessed() -> None:
    data = example_data() | {"what_if": None}
    first = data["affected"][0]
    first["guessed"] = first["neighbors"][0]["guessed"] = True
    page = Markup(render_page(made(data)))
    assert " ".join(page.text.split()).count("unknown, taken as women") == 1
    assert " ".join(page.text.split()).count("unknown, taken as men") == 1


def text_of(audit: Audit) -> str:
    return " ".join(Markup(render_page(audit)).text.split())


def test_sections_stand_in_the_order_of_a_reader() -> None:
    source = render_page(example())
    assert source.startswith("<!DOCTYPE html>")
    page = Markup(source)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert [name for name in ids if name in SECTIONS] == SECTIONS
    assert {href[1:] for href in page.values("href")} <= set(ids)


@pytest.mark.parametrize("part", OPTIONAL)
def test_a_part_that_is_missing_leaves_its_section_out(part: str) -> None:
    empty, gone = OPTIONAL[part]
    page = Markup(render_page(example(**{part: empty})))
    ids = page.values("id")
    assert [name for name in ids if name in SECTIONS] == [s for s in SECTIONS if s not in gone]
    assert {href[1:] for href in page.values("href")} <= set(ids)
    assert "None" not in page.text


def test_without_a_generator_there_is_still_the_training() -> None:
    data = example_data()
    data["training"]["generator"] = None
    ids = Markup(render_page(made(data))).values("id")
    assert "training" in ids
    assert "generator" not in ids


def test_every_number_is_shown() -> None:
    audit = example()
    text = text_of(audit)
    for name, metric in METRICS.items():
        words = f"{metric.label} {measure(audit.metrics[name])} {between(audit.intervals[name])}"
        assert words in text
        assert f"{metric.direction} is better" in text[text.index(words) : text.index(words) + 120]
    for row in audit.flips:
        assert between(row.interval) in text
        assert f"{percent(row.rising)}, by {measure(row.rise)}" in text
        assert f"{percent(row.falling)}, by {measure(row.fall)}" in text
    columns = {column.key: column for column in group_section(audit).columns}
    for group in (*audit.groups, *audit.margins):
        for key, ends in group.intervals.items():
            written = columns[key].written(group.value(key)) + columns[key].ends(ends)
            assert key == "impact_ratio" or written in text
        for key in ("count", "unlabelled", "labelled", "positives", "negatives", "selected"):
            assert str(getattr(group, key)) in text
    assert audit.comparison is not None
    for difference in audit.comparison.rows:
        assert signed(difference.difference) in text
    assert audit.causal_models is not None
    for model in audit.causal_models.rows:
        assert measure(model.rate) in text
        assert model.error is None or f"Not available: {model.error}" in text
    text = text_of(example(what_if=None))
    for person in audit.affected:
        shown = f"{measure(person.score)}{signed(person.score_change)}"
        assert f"{shown}{percent(person.flip_share)}" in text
        assert all(str(near.node_id) in text for near in person.neighbors)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sens", False, "It does not read the sensitive column: its scores are the same"),
        ("sens", True, "It reads the sensitive column"),
        ("graph", False, "the same without any edge"),
        ("graph", True, "It reads the graph"),
        ("repeats", True, "It gives the same scores when it is run twice"),
        ("repeats", False, "different scores when it is run twice"),
    ],
)
def test_what_the_model_reads_is_said_in_words(key: str, value: bool, words: str) -> None:
    def text(found: bool | None) -> str:
        return text_of(example(probes={"sens": None, "graph": None, "repeats": None, key: found}))

    assert words in text(value)
    assert words not in text(None)
    assert words not in text(not value)


def test_a_verdict_that_depends_on_the_causal_model_is_a_caution_at_the_top() -> None:
    audit = example()
    assert audit.causal_models is not None
    verdict, text = audit.causal_models.verdict, text_of(audit)
    assert text.index(verdict) < text.index("Whose answer changes") < text.rindex(verdict)
    calm = replace(audit, causal_models=replace(audit.causal_models, depends=False))
    assert text_of(calm).count(verdict) == 1


def test_notes_that_the_page_shows_elsewhere_are_not_repeated() -> None:
    audit = example()
    assert audit.causal_models is not None
    assert audit.probes is not None
    repeated = (*audit.probes.cautions(), audit.causal_models.verdict)
    assert render_page(replace(audit, notes=(*repeated, *audit.notes))) == render_page(audit)


def test_a_difference_is_called_clear_only_where_its_interval_excludes_zero() -> None:
    audit = example()
    assert audit.comparison is not None
    row = audit.comparison.rows[0]

    def text(**changes: Any) -> str:
        assert audit.comparison is not None
        compared = replace(audit.comparison, rows=(replace(row, **changes),))
        return text_of(replace(audit, comparison=compared))

    assert "−0.008 to 0.042no clear difference" in text()
    clear = Interval(0.008, 0.042)
    assert "0.008 to 0.042loans-gnn-v3 is better" in text(interval=clear, better="first")
    assert "0.008 to 0.042loans-gnn-v2 is better" in text(interval=clear, better="second")
    assert "interval undefinedundefined" in text(interval=UNDEFINED)


def test_intervals_are_called_by_their_level() -> None:
    audit = example()
    text = text_of(replace(audit, setup=replace(audit.setup, level=0.9)))
    assert "95 % interval" not in text
    assert "90 % interval" in text
    assert "in 90 of 100 such evaluations" in text


def test_only_a_run_says_how_many_people_it_was_trained_on() -> None:
    assert "trained on" in text_of(example())
    assert "trained on" not in text_of(example(training=None))


def test_the_account_of_a_real_causal_model_can_be_shown() -> None:
    graph = load("synthetic", n=60, seed=0)
    account = for_graph(graph).diagnostics(graph)
    text = text_of(replace(example(), diagnostics=account))
    assert "the worlds are exact" in text
    effect = account.effects[0]
    assert f"{effect.edges_added} ({percent(effect.added_share)})" in text
    assert f"people set{percent(effect.people_set)}" in text


def test_quality_of_the_causal_model_is_written_out() -> None:
    text = text_of(example())
    for words in (
        "links may moveyes",
        "weight: intercept−9.120 (−9.400 to −8.830)",
        "number of links4,098 expected, 4,120 there",
        "new links missed: all 061 ± 9",
        "links expected elsewhere2.1 %",
    ):
        assert words in text


def test_people_groups_and_answers_have_the_names_of_the_data() -> None:
    text = text_of(example(what_if=None))
    assert "1840womengrantedgranted" in text
    assert "1914womenunknownrefused" in text
    assert "everybody women0.640changes" in text
    assert "changes in 60.0 % of draws" in text
    assert "get “granted”" in text
    data = example_data()
    data["names"], data["what_if"] = {"groups": [], "classes": []}, None
    data["affected"][0]["node_id"] = "Ms 1840"
    assert "Ms 1840group 011" in text_of(made(data))


def test_undefined_numbers_are_called_undefined() -> None:
    kept = {key: example_data()[key] for key in ("setup", "provenance")}
    page = Markup(render_page(made(undefined(example_data()) | kept)))
    assert page.text.count("undefined") > 2 * len(METRICS)
    assert "None" not in page.text
    assert "nan" not in page.text.lower().split()
    drawn = " ".join(page.values("style")) + " ".join(page.values("points"))
    assert not re.search(r"nan|inf", drawn)


def test_gaps_in_the_history_break_the_line() -> None:
    audit = example()
    assert audit.training is not None
    for row in audit.training.history["network"].training[5:9]:
        row["prediction"] = math.nan
    points = Markup(render_page(audit)).values("points")
    assert not re.search(r"nan|inf", " ".join(points))
    assert len(points) == len(Markup(render_page(example())).values("points")) + 1


def test_nothing_is_loaded_from_anywhere() -> None:
    source = render_page(example())
    page = Markup(source)
    for tag in ("link", "iframe", "img"):
        assert not page.all(tag)
    # One that runs, and one that is data.
    assert page.all("script") == [{"type": "application/json", "id": "what-if-data"}, {}]
    assert not page.values("src")
    assert all(href.startswith("#") for href in page.values("href"))
    assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttpRequest|WebSocket", source)


def test_the_policy_lets_its_own_script_run_and_nothing_else() -> None:
    source = render_page(example())
    (script,) = re.findall(r"<script>(.*?)</script>", source, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(m["content"] for m in Markup(source).all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_hostile_strings_are_only_text() -> None:
    data = hostile(example_data())
    history = data["training"]["history"]
    history[HOSTILE] = history["network"]
    for row in history["network"]["training"]:
        row[HOSTILE] = row["prediction"]
    data["config"][HOSTILE] = {HOSTILE: {HOSTILE: HOSTILE}}
    data["training"]["generator"][HOSTILE] = 1.0
    data["diagnostics"]["quality"][HOSTILE] = {HOSTILE: {HOSTILE: HOSTILE}}
    data["affected"][0]["interventions"][HOSTILE] = {"score": 0.5, "flip": 1.0}
    data["affected"][0]["node_id"] = HOSTILE * 20
    data["names"] = {"groups": [HOSTILE, "🦊"], "classes": [HOSTILE, HOSTILE]}
    # Without the explorer, its section on the most affected people.
    Markup(render_page(made({**data, "what_if": None})))
    source = render_page(made(data))
    page = Markup(source)
    assert source.count("<script") == 2
    assert source.count("<style") == source.count("</style") == 1
    assert "alert(1)" in page.text
    assert "7*7" in page.text
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    for lines in page.values("data-lines"):
        json.loads(lines)


def test_chart_data_holds_every_point() -> None:
    audit = example()
    charts = [json.loads(lines) for lines in Markup(render_page(audit)).values("data-lines")]
    assert audit.training is not None
    rows = audit.training.history["generator"].training
    first = charts[0][0]["at"]
    assert len(first) == len(rows)
    assert first[0][2] == f"{rows[0]['step']:.0f}"
    assert [line["name"] for line in charts[-2]] == ["training", "validation"]


def test_accessible_names_and_headers() -> None:
    page = Markup(render_page(example()))
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in attributes for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    images = [found for _, found in page.tags if found.get("role") == "img"]
    assert images
    assert all(found["aria-label"] for found in images)
    assert all(found.get("aria-hidden") == "true" for found in page.all("svg"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))


def test_delta_cf_comes_with_its_warning() -> None:
    text = text_of(example())
    assert "Never read δCF without accuracy and AUROC beside it" in text
    assert "debias" not in text.lower()


def test_the_same_audit_gives_the_same_page() -> None:
    assert render_page(example()) == render_page(made(json.loads(json.dumps(example_data()))))


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run" / "report.html"
    write_page(example(), path)
    before = path.read_text(encoding="utf-8")
    assert before == render_page(example())

    def fails(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(OSError, match="disk full"):
        write_page(example(notes=[]), path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == before
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="cannot write"):
        write_page(example(), tmp_path / "file" / "report.html")
