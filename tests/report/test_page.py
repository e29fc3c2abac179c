from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fairgear.errors import FairgearError, FileError
from fairgear.metrics import METRICS
from fairgear.report import render_page, write_page
from fairgear.report.numbers import between, measure
from tests.report.audit_example import example_audit
from tests.report.example import example_run
from tests.report.markup import Markup
from tests.report.variants import HOSTILE, hostile, undefined

PARTS = ["metrics", "intervals", "config", "provenance", "details"]
DETAILS = ["flips", "groups", "generator", "history", "graph", "notes"]


def _without(part: str) -> dict[str, Any]:
    run = example_run()
    (run if part in PARTS else run["details"]).pop(part)
    return run


def test_full_run_has_every_section() -> None:
    source = render_page(example_run())
    assert source.startswith("<!DOCTYPE html>")
    page = Markup(source)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    wanted = "headline notes flips groups generator training settings provenance reading"
    assert set(wanted.split()) <= set(ids)
    links = [href for href in page.values("href") if href.startswith("#")]
    assert links
    assert {href[1:] for href in links} <= set(ids)
    assert "recorded no" not in page.text


@pytest.mark.parametrize("part", [*PARTS, *DETAILS])
def test_any_part_may_be_missing(part: str) -> None:
    page = Markup(render_page(_without(part)))
    assert "How to read this" in page.text


@pytest.mark.parametrize("run", [{}, dict.fromkeys(PARTS), {"details": dict.fromkeys(DETAILS)}])
def test_an_empty_run_says_what_is_missing(run: dict[str, Any]) -> None:
    page = Markup(render_page(run))
    assert page.text.count("interval undefined") == len(METRICS)
    for words in ("flips by intervention", "rates by group", "training history", "provenance"):
        assert f"recorded no {words}" in page.text
    assert "did not record what it was measured on" in page.text
    hrefs = {href[1:] for href in page.values("href")}
    assert hrefs <= set(page.values("id"))


def test_every_metric_appears_with_its_interval_and_direction() -> None:
    run = example_run()
    text = " ".join(Markup(render_page(run)).text.split())
    for name, metric in METRICS.items():
        low, high = run["intervals"][name]
        words = f"{metric.label} {measure(run['metrics'][name])} {between((low, high))}"
        assert words in text
        assert f"{metric.direction} is better" in text[text.index(words) : text.index(words) + 120]


def test_a_metric_that_nobody_declared_is_shown() -> None:
    run = example_run()
    run["metrics"]["delta_new"] = 0.125
    run["intervals"]["delta_new"] = [0.1, 0.2]
    assert "delta_new 0.125 0.100 to 0.200" in " ".join(Markup(render_page(run)).text.split())


def test_undefined_numbers_are_said_to_beundefined() -> None:
    page = Markup(render_page(undefined(example_run())))
    assert page.text.count("undefined") > 2 * len(METRICS)
    assert "None" not in page.text
    assert "nan" not in page.text.lower().split()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_break_nothing(value: float) -> None:
    run = example_run()
    run["metrics"]["delta_cf"] = value
    run["intervals"]["delta_cf"] = [value, value]
    run["details"]["flips"][0]["rate"] = value
    run["details"]["groups"][0]["true_positive_rate"] = value
    run["details"]["generator"]["sens_from_h"] = value
    for row in run["details"]["history"]["network"]["training"][5:9]:
        row["prediction"] = value
    page = render_page(run)
    Markup(page)
    styles = " ".join(Markup(page).values("style")) + " ".join(Markup(page).values("points"))
    assert not re.search(r"nan|inf", styles)


def test_nothing_is_loaded_from_anywhere() -> None:
    source = render_page(example_run())
    page = Markup(source)
    assert not page.all("link")
    assert not page.all("iframe")
    assert not page.all("img")
    assert not [attributes for attributes in page.all("script") if attributes]
    assert not page.values("src")
    assert all(href.startswith("#") for href in page.values("href"))
    assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttpRequest|WebSocket", source)


def test_the_policy_lets_its_own_script_run_and_nothing_else() -> None:
    source = render_page(example_run())
    scripts = re.findall(r"<script>(.*?)</script>", source, flags=re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(m["content"] for m in Markup(source).all("meta") if "http-equiv" in m)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_hostile_strings_are_only_text() -> None:
    plain, run = example_run(), hostile(example_run())
    run["details"]["history"][HOSTILE] = copy.deepcopy(run["details"]["history"]["network"])
    for row in run["details"]["history"]["network"]["training"]:
        row[HOSTILE] = row["prediction"]
    run["metrics"][HOSTILE] = 0.5
    run["config"][HOSTILE] = {HOSTILE: {HOSTILE: HOSTILE}}
    run["details"]["generator"][HOSTILE] = 1.0
    run["provenance"][HOSTILE] = HOSTILE
    source = render_page(run)
    page = Markup(source)
    assert source.count("<script") == render_page(plain).count("<script") == 1
    assert source.count("<style") == source.count("</style") == 1
    assert "alert(1)" in page.text
    assert "7*7" in page.text
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    for lines in page.values("data-lines"):
        json.loads(lines)


def test_chart_data_holds_every_point() -> None:
    run = example_run()
    charts = [json.loads(lines) for lines in Markup(render_page(run)).values("data-lines")]
    history = run["details"]["history"]
    both = [chart for chart in charts if [line["name"] for line in chart] > ["training"]]
    assert both
    first = charts[0][0]["at"]
    assert len(first) == len(history["generator"]["training"])
    assert first[0][2] == str(history["generator"]["training"][0]["step"])


def test_accessible_names_and_headers() -> None:
    page = Markup(render_page(example_run()))
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in attributes for attributes in page.all("th"))
    images = [found for _, found in page.tags if found.get("role") == "img"]
    assert images
    assert all(found["aria-label"] for found in images)
    assert all(found.get("aria-hidden") == "true" for found in page.all("svg"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(deeper - level <= 1 for level, deeper in pairwise(levels))


def test_delta_cf_comes_with_its_warning() -> None:
    text = Markup(render_page({})).text
    assert "Never read δCF without accuracy and AUROC beside it" in text
    assert "debias" not in text.lower()


def test_the_same_run_gives_the_same_page() -> None:
    assert render_page(example_run()) == render_page(json.loads(json.dumps(example_run())))


def test_the_run_is_left_as_it_was() -> None:
    run = example_run()
    render_page(run)
    assert run == example_run()


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run" / "report.html"
    write_page(example_run(), path)
    before = path.read_text(encoding="utf-8")
    assert before == render_page(example_run())
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]

    def fails(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "write_text", fails)
    with pytest.raises(OSError, match="disk full"):
        write_page({}, path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == before
    assert [entry.name for entry in path.parent.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FileError, match="cannot write"):
        write_page({}, tmp_path / "file" / "report.html")


@pytest.mark.parametrize(
    "run",
    [
        [],
        {"metrics": [1]},
        {"config": "synthetic"},
        {"details": {"flips": {"rate": 1}}},
        {"details": {"groups": [1, 2]}},
        {"details": {"notes": "one"}},
        {"details": {"history": {"network": 3}}},
    ],
)
def test_a_misshapen_run_is_refused(run: Any) -> None:
    with pytest.raises(FairgearError, match=r"metrics\.json"):
        render_page(run)


def test_what_the_causal_model_does_is_shown_where_it_was_recorded() -> None:
    run = example_run()
    assert "causal-model" not in Markup(render_page(run)).values("id")
    run["details"]["diagnostics"] = example_audit()["details"]["diagnostics"]
    page = Markup(render_page(run))
    assert "#causal-model" in page.values("href")
    assert "What the causal model does" in page.text


def test_groups_and_answers_carry_the_words_that_the_data_have_for_them() -> None:
    run = example_run()
    assert "group 1, " not in render_page(run)
    run["details"]["names"] = {"groups": ["female", HOSTILE], "answers": ["no", "granted"]}
    page = render_page(run)
    assert "group 0, female" in page
    assert "answer 1 (granted)" in page
    assert HOSTILE not in page
    run["details"]["names"] = {}
    assert "group 0, female" not in render_page(run)
