from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairgear.causal import for_graph
from fairgear.datasets import load
from fairgear.errors import FairgearError
from fairgear.metrics import METRICS
from fairgear.report import render_audit, write_audit
from fairgear.report.numbers import between, measure, percent, percents_between, signed
from tests.report.audit_example import example_audit
from tests.report.markup import Markup
from tests.report.variants import HOSTILE, hostile, undefined

PARTS = [
    "model",
    "metrics",
    "intervals",
    "config",
    "provenance",
    "details",
    "causal_models",
    "affected",
    "comparison",
]
DETAILS = ["flips", "groups", "graph", "names", "notes", "diagnostics"]


def _text(audit: dict[str, Any]) -> str:
    return " ".join(Markup(render_audit(audit)).text.split())


def test_sections_stand_in_the_order_of_a_reader() -> None:
    page = Markup(render_audit(example_audit()))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    wanted = (
        "headline comparison flips causal-models causal-model groups affected notes settings "
        "provenance reading"
    )
    assert [name for name in ids if name in wanted.split()] == wanted.split()
    links = [href[1:] for href in page.values("href")]
    assert set(links) <= set(ids)
    assert "recorded no" not in page.text


@pytest.mark.parametrize("part", [*PARTS, *DETAILS])
@pytest.mark.parametrize("null", [False, True])
def test_any_part_may_be_missing(part: str, null: bool) -> None:
    audit = example_audit()
    parent = audit if part in PARTS else audit["details"]
    if null:
        parent[part] = None
    else:
        del parent[part]
    page = Markup(render_audit(audit))
    assert "How to read this" in page.text
    assert {href[1:] for href in page.values("href")} <= set(page.values("id"))


@pytest.mark.parametrize("audit", [{}, dict.fromkeys(PARTS), {"details": dict.fromkeys(DETAILS)}])
def test_an_empty_audit_says_what_is_missing(audit: dict[str, Any]) -> None:
    page = Markup(render_audit(audit))
    assert page.text.count("interval undefined") == len(METRICS)
    for words in (
        "unnamed model",
        "did not record what it was measured on",
        "recorded no flips",
        "asked no other causal model",
        "recorded no rates by group",
        "names nobody",
        "recorded no settings",
        "recorded no provenance",
    ):
        assert words in page.text
    assert "comparison" not in page.values("id")
    assert "causal-model" not in page.values("id")


def test_every_number_of_an_audit_is_shown() -> None:
    audit = example_audit()
    text = _text(audit)
    for name, metric in METRICS.items():
        ends = between(tuple(audit["intervals"][name]))
        assert f"{metric.label} {measure(audit['metrics'][name])} {ends}" in text
    for row in audit["details"]["flips"]:
        assert between(tuple(row["interval"])) in text
        assert f"{percent(row['rising'])}, by {measure(row['rise'])}" in text
        assert f"{percent(row['falling'])}, by {measure(row['fall'])}" in text
    for row in audit["details"]["groups"]:
        for key in ("selection_rate", "true_positive_rate", "accuracy", "delta_cf"):
            assert f"{percent(row[key])}{percents_between(tuple(row[f'{key}_interval']))}" in text
        for key in ("count", "labelled", "positives", "selected"):
            assert str(row[key]) in text
    for row in audit["comparison"]["rows"]:
        assert signed(row["difference"]) in text
    for row in audit["causal_models"]["rows"]:
        assert measure(row["rate"]) in text or row["error"] in text
    for person in audit["affected"]:
        shown = f"{measure(person['score'])}{signed(person['score_change'])}"
        assert f"{shown}{percent(person['flip_share'])}" in text
        assert all(str(near["node_id"]) in text for near in person["neighbors"])


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sens", False, "It does not look at the sensitive column: its scores are the same"),
        ("sens", True, "It looks at the sensitive column"),
        ("graph", False, "the same with every edge taken away"),
        ("graph", True, "It looks at the graph"),
        ("repeats", True, "Asked twice, it gives the same scores"),
        ("repeats", False, "other scores when it is asked twice"),
    ],
)
def test_what_the_model_looks_at_is_said_in_words(key: str, value: bool, words: str) -> None:
    assert words in _text({"model": {"sight": {key: value}}})
    assert words not in _text({"model": {"sight": {key: None}}})
    assert words not in _text({"model": {"sight": {key: not value}}})


def test_an_answer_that_hangs_on_the_causal_model_is_a_caution_at_the_top() -> None:
    audit = example_audit()
    verdict = audit["causal_models"]["verdict"]
    caution, flips, again = (
        _text(audit).index(verdict),
        _text(audit).index("Whose answer changes"),
        _text(audit).rindex(verdict),
    )
    assert caution < flips < again
    audit["causal_models"]["depends"] = False
    assert _text(audit).count(verdict) == 1
    audit["causal_models"] |= {"depends": True, "verdict": ""}
    assert "How many answers change depends on the causal model" in _text(audit)


def test_a_causal_model_that_could_not_be_asked_says_why() -> None:
    text = _text(example_audit())
    assert "Could not be asked: the AUC on held-out pairs is 0.58" in text
    assert "shift and rule (this audit)" in text
    audit = example_audit()
    for row in audit["causal_models"]["rows"]:
        del row["label"]
    text = _text(audit)
    assert "this audit's own 0.121" in text
    assert "structure only 0.021" in text


def test_a_difference_is_told_only_where_its_interval_leaves_out_zero() -> None:
    audit = example_audit()
    row = audit["comparison"]["rows"][0]
    audit["comparison"]["rows"] = [row]
    assert "−0.008 to 0.042no difference can be told" in _text(audit)
    row |= {"interval": [0.008, 0.042], "better": "first"}
    assert "0.008 to 0.042loans-gnn-v3 is better" in _text(audit)
    row["better"] = "second"
    assert "0.008 to 0.042loans-gnn-v2 is better" in _text(audit)
    row |= {"interval": [None, None], "better": None}
    assert "interval undefinedundefined" in _text(audit)


def test_differences_are_drawn_around_zero() -> None:
    audit = example_audit()
    page = render_audit(audit)
    assert page.count('<i class="zero"') == len(audit["comparison"]["rows"])
    assert '<i class="zero" style="left:75.0%"' in page


def test_intervals_are_called_by_their_level() -> None:
    audit = example_audit()
    audit["config"]["level"] = 0.9
    text = _text(audit)
    assert "95 % interval" not in text
    assert "90 % interval" in text
    assert "in 90 of 100 such evaluations" in text


def test_nobody_says_whom_the_model_was_trained_on() -> None:
    assert "trained on" not in _text(example_audit())


def test_the_account_of_a_real_causal_model_can_be_shown() -> None:
    graph = load("synthetic", n=60, seed=0)
    audit = example_audit()
    account = for_graph(graph).diagnostics(graph).to_dict()
    audit["details"]["diagnostics"] = account
    text = _text(audit)
    assert "the worlds are exact" in text
    effect = account["effects"][0]
    share = percent(effect["edges_added"] / effect["before"]["edges"])
    assert f"{effect['edges_added']} ({share})" in text
    assert f"people set{percent(effect['people_set'])}" in text


def test_quality_of_the_causal_model_is_written_out() -> None:
    text = _text(example_audit())
    for words in (
        "links may moveyes",
        "weight: intercept−9.120 (−9.400 to −8.830)",
        "number of links4,098 expected, 4,120 there",
        "new links missed: all 061 ± 9",
        "links expected elsewhere2.1 %",
    ):
        assert words in text


def test_people_are_named_as_the_data_name_them() -> None:
    audit = example_audit()
    text = _text(audit)
    assert "1840group 0, women1, granted1, granted" in text
    assert "1914group 0, womenunknown0, refused" in text
    assert "rate 00.640changes" in text
    assert "changes in 60.0 % of draws" in text
    audit["details"]["names"] = None
    audit["affected"][0]["node_id"] = "Ms 1840"
    assert "Ms 1840group 011" in _text(audit)


def test_undefined_numbers_are_said_to_be_undefined() -> None:
    page = Markup(render_audit(undefined(example_audit())))
    assert page.text.count("undefined") > 2 * len(METRICS)
    assert "None" not in page.text
    assert "nan" not in page.text.lower().split()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_break_nothing(value: float) -> None:
    audit = example_audit()
    audit["comparison"]["rows"][0] |= {"difference": value, "interval": [value, value]}
    audit["causal_models"]["rows"][0] |= {"rate": value, "interval": [value, 0.1]}
    audit["details"]["groups"][0]["delta_cf"] = value
    audit["details"]["diagnostics"]["effects"][0]["edges_added"] = value
    audit["affected"][0]["score_change"] = value
    page = Markup(render_audit(audit))
    assert not re.search(r"nan|inf", " ".join(page.values("style")))


def test_nothing_is_loaded_from_anywhere() -> None:
    source = render_audit(example_audit())
    page = Markup(source)
    for tag in ("link", "iframe", "img"):
        assert not page.all(tag)
    assert not page.values("src")
    assert all(href.startswith("#") for href in page.values("href"))
    assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttpRequest|WebSocket", source)


def test_the_policy_lets_its_own_script_run_and_nothing_else() -> None:
    source = render_audit(example_audit())
    (script,) = re.findall(r"<script>(.*?)</script>", source, flags=re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(m["content"] for m in Markup(source).all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_hostile_strings_are_only_text() -> None:
    audit = hostile(example_audit())
    audit["details"]["diagnostics"]["quality"][HOSTILE] = {HOSTILE: {HOSTILE: HOSTILE}}
    audit["affected"][0]["interventions"][HOSTILE] = {"score": 0.5, "flip": True}
    audit["affected"][0]["node_id"] = HOSTILE * 20
    audit["details"]["names"] = {"groups": [HOSTILE, "🦊"], "answers": [HOSTILE, HOSTILE]}
    audit["metrics"][HOSTILE] = 0.5
    source = render_audit(audit)
    page = Markup(source)
    assert source.count("<script") == 1
    assert source.count("<style") == source.count("</style") == 1
    assert "alert(1)" in page.text
    assert "7*7" in page.text
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]


def test_accessible_names_and_headers() -> None:
    page = Markup(render_audit(example_audit()))
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in attributes for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))


def test_the_same_audit_gives_the_same_page() -> None:
    audit = example_audit()
    page = render_audit(audit)
    assert audit == example_audit()
    assert page == render_audit(json.loads(json.dumps(audit)))


def test_written_as_it_is_rendered(tmp_path: Path) -> None:
    path = tmp_path / "audits" / "audit.html"
    write_audit(example_audit(), path)
    assert path.read_text(encoding="utf-8") == render_audit(example_audit())
    assert [entry.name for entry in path.parent.iterdir()] == ["audit.html"]


@pytest.mark.parametrize(
    "audit",
    [
        [],
        {"model": "loans"},
        {"model": {"sight": True}},
        {"comparison": {"rows": [1]}},
        {"causal_models": [1]},
        {"affected": {"node_id": 1}},
        {"affected": [{"neighbors": "all"}]},
        {"details": {"diagnostics": [1]}},
        {"details": {"names": {"groups": "women"}}, "affected": [{"sens": 0}]},
    ],
)
def test_a_misshapen_audit_is_refused(audit: Any) -> None:
    with pytest.raises(FairgearError, match="an audit as it was saved"):
        render_audit(audit)
