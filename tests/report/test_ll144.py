"""The tables of Local Law 144 as Markdown and CSV."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fairgear.auditing import Audit
from fairgear.auditing.names import Names
from fairgear.report import ll144_markdown, write_ll144
from tests.auditing.test_ll144 import SEX, scored
from tests.report.example import HOSTILE, example


def audited(people: pd.DataFrame, names: Names = SEX) -> Audit:
    return replace(example(), people=people, names=names)


def test_the_rules_example_as_it_is_printed() -> None:
    text = ll144_markdown(audited(scored([(76, 34), (92, 50)])))
    assert "| Category | # of applicants | Scoring rate | Impact ratio |" in text
    assert "| Male | 92 | 54.3 % | 1.00 |" in text
    assert "| Female | 76 | 44.7 % | 0.82 |" in text
    assert "People of unknown category, not included above: 0." in text
    assert "Selected are the people with answer “yes”." in text
    assert "This audit has sex." in text


def test_who_is_left_out_is_named_with_a_reason() -> None:
    names = Names(("one", "two", "few"), attribute="race")
    text = ll144_markdown(audited(scored([(500, 250), (490, 300), (10, 4)]), names))
    assert "| few | 10 | 4 | 40.0 % | excluded |" in text
    said = "- few: left out of the impact ratios, 1.0 % of the people of known category, less than"
    assert f"{said} 2 %: too few for a reliable impact ratio." in text


@pytest.mark.parametrize(
    ("few", "everybody", "shown"),
    [(7, 355, "1.97"), (6, 355, "1.7"), (1, 51, "1.96"), (1999, 100_000, "1.999")],
)
def test_a_share_below_the_limit_is_not_shown_as_the_limit(
    few: int, everybody: int, shown: str, tmp_path: Path
) -> None:
    audit = audited(scored([(few, 1), (everybody - few, everybody // 2)]))
    assert f"impact ratios, {shown} % of the people of known category, less" in ll144_markdown(
        audit
    )
    write_ll144(audit, tmp_path / "ll144")
    said = pd.read_csv(tmp_path / "ll144.csv", na_filter=False)["excluded"]
    assert said[0].startswith(f"{shown} % of the people of known category, less than 2 %")
    assert said[1:].tolist() == ["", ""]


def test_where_nobody_is_selected_ratios_are_undefined() -> None:
    people = scored([(50, 20), (50, 30)]).assign(label=0)
    assert "| Female | 50 | 0 | 0.0 % | undefined |" in ll144_markdown(audited(people))


def test_a_category_may_be_called_unknown() -> None:
    names = Names(("unknown", "Male"), attribute="sex")
    text = ll144_markdown(audited(scored([(50, 20), (50, 30)]), names))
    assert "| unknown | 50 | 20 | 40.0 % | 0.67 |" in text
    assert "not included above: 0." in text


def test_hostile_names_stay_in_their_cells() -> None:
    names = Names((HOSTILE, "a|b\x1b[2J\u202e"), attribute=HOSTILE)
    text = ll144_markdown(audited(scored([(50, 20), (50, 30)]), names))
    assert "<script" not in text.replace("\\<script", "")
    assert "a\\|b‹U+001B›\\[2J‹U+202E›" in text


@pytest.mark.parametrize("name", ["ll144.md", "ll144.csv"])
def test_two_files_are_written(name: str, tmp_path: Path) -> None:
    audit = audited(scored([(76, 34), (92, 50)]))
    write_ll144(audit, tmp_path / name)
    assert (tmp_path / "ll144.md").read_text() == ll144_markdown(audit)
    found, expected = pd.read_csv(tmp_path / "ll144.csv", na_filter=False), audit.ll144()
    assert list(found) == list(expected)
    assert found["category"].tolist() == ["Female", "Male", "unknown"]
    assert found["selected"].tolist() == ["34", "50", ""]
    for column in ("selection_rate", "impact_ratio", "scoring_rate", "scoring_impact_ratio"):
        written = [float(value) for value in found[column][:2]]
        assert written == expected[column][:2].tolist()


def test_no_spreadsheet_runs_the_words_of_the_data(tmp_path: Path) -> None:
    words = ('=HYPERLINK("http://x")', "+tiny", "-5")
    classes = ("no", "@SUM(A1)")
    names = Names(words, classes, attribute="=1+1")
    audit = audited(scored([(50, 20), (50, 30), (50, 25)]), names)
    write_ll144(audit, tmp_path / "ll144")
    found = pd.read_csv(tmp_path / "ll144.csv", dtype=str, na_filter=False)
    assert found["category"].tolist() == [f"'{words[0]}", f"'{words[1]}", "-5", "unknown"]
    assert set(found["answer"]) == {"'@SUM(A1)"}
    assert set(found["categories"]) == {"'=1+1"}
    assert audit.ll144()["category"].tolist()[:3] == list(words)
