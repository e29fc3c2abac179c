"""Reproductions: which runs there are, and tables by hand beside what the paper has."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.errors import ParameterError, UnknownNameError
from fairgear.metrics import METRICS
from fairgear.studies import reproduce
from fairgear.studies.recipe import NAMES, Line, Recipe, read_recipe
from fairgear.studies.records import Records
from fairgear.studies.reproduce import Reproduction, agreement, summarised, write_results
from fairgear.studies.spec import Cell, Entry
from fairgear.studies.tables import SHOWN, paper_markdown
from tests.studies.toy import row, rows, toy_plan

# Two lines that the paper has on Bail under these names, and one that it has not.
LINES = (
    Line("GEAR", Entry.parse("logistic"), published="GEAR"),
    Line("SAGE_1", Entry.parse("logistic-unaware"), published="GraphSAGE"),
    Line("X − s·v", Entry.parse("logistic-residual")),
)
NEAR_ENOUGH = "Means within 2 published standard deviations"
PLAN = Recipe("small", "A small table", ("bail",), LINES, published="table2")


def measured(**auroc: list[float]) -> pd.DataFrame:
    names = {"gear": "GEAR", "sage": "SAGE_1", "ours": "X − s·v"}
    return rows({names[key]: found for key, found in auroc.items()}, "auroc", dataset="bail")


def cell(table: pd.DataFrame, line: str, metric: str) -> Any:
    (found,) = table[(table.line == line) & (table.metric == metric)].to_dict("records")
    return found


def test_means_beside_what_the_paper_has_by_hand() -> None:
    table = summarised(PLAN, measured(gear=[0.88, 0.9, 0.92], ours=[0.5, 0.5, 0.5]))
    gear = cell(table, "GEAR", "auroc")
    assert (gear["mean"], gear["std"]) == (pytest.approx(0.9), pytest.approx(0.02))
    reach = 4.302653 * 0.02 / math.sqrt(3)
    assert (gear["low"], gear["high"]) == pytest.approx((0.9 - reach, 0.9 + reach))
    assert (gear["seeds"], gear["rank"]) == (3, 1)
    assert (gear["published"], gear["published_std"]) == (0.896, 0.016)
    assert gear["off"] == pytest.approx(0.25)
    # A quarter beside 0.003 ± 0.002, which the paper has as its code measures it.
    assert cell(table, "GEAR", "delta_cf_released")["off"] == pytest.approx(123.5)
    assert math.isnan(cell(table, "GEAR", "delta_cf")["published"])
    ours = cell(table, "X − s·v", "auroc")
    assert math.isnan(ours["published"])
    assert math.isnan(ours["off"])
    assert len(table) == 2 * len(METRICS)


def test_far_off_is_bold_and_the_paper_stands_below() -> None:
    found = measured(gear=[0.881, 0.901, 0.921], sage=[0.5], ours=[math.nan] * 3)
    text = paper_markdown(summarised(PLAN, found)).splitlines()
    assert text[0] == "### bail"
    head = [part.strip() for part in text[2].strip("|").split("|")]
    assert head[0] == "method"
    assert head[-1] == "seeds"
    of = {name: head.index(METRICS[name].label) for name in ("accuracy", "auroc", "delta_cf")}
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in text[4:]]
    assert [line[0] for line in lines] == [
        "**GEAR**",
        "*published*",
        "**SAGE_1**",
        "*published*",
        "**X − s·v**",
    ]
    gear, theirs, sage, _, ours = lines
    assert gear[of["auroc"]] == "0.901 ± 0.020"
    assert theirs[of["auroc"]] == "0.896 ± 0.016 (+0.3 σ)"
    # (0.25 − 0.852) / 0.026.
    assert gear[of["accuracy"]] == "**0.250** ± 0.000"
    assert theirs[of["accuracy"]] == "0.852 ± 0.026 (-23.2 σ)"
    assert theirs[of["delta_cf"]] == ""
    assert sage[of["auroc"]] == "**0.500**", "a single seed has no deviation"
    assert ours[of["auroc"]] == "undefined"
    assert [line[-1] for line in lines] == ["3", "", "1", "", "3"]


def test_two_deviations_are_near_and_more_are_not() -> None:
    # 0.896 ± 0.016: two deviations up is 0.928.
    for value, bold in ((0.9279, False), (0.9281, True)):
        table = summarised(PLAN, measured(gear=[value] * 3))
        assert ("| **0.928** ± 0.000 |" in paper_markdown(table)) == bold
        expected = "0 of 7" if bold else "1 of 7"
        assert agreement(table) == f"{NEAR_ENOUGH}: {expected} on bail.\n"


def test_agreement_is_counted_by_dataset_and_nothing_is_no_line() -> None:
    off = [("bail", 2.0), ("bail", -2.0), ("bail", 2.01), ("bail", math.nan), ("credit", -5.0)]
    found = pd.DataFrame(off, columns=["dataset", "off"]).assign(line="GEAR")
    assert agreement(found) == f"{NEAR_ENOUGH}: 2 of 3 on bail, 0 of 1 on credit.\n"
    assert agreement(summarised(PLAN, measured(ours=[0.5]))) == ""


def test_the_papers_tables_disagree_on_one_figure() -> None:
    assert reproduce.disagreements() == (
        "- R² of GEAR on bail: 0.038 in table2, 0.049 in table3, 0.049 in tableS1.\n"
    )


def test_rows_of_lines_are_those_at_hand(tmp_path: Path) -> None:
    plan = toy_plan()
    records = Records(tmp_path / "rows.csv")
    for place, one in enumerate(plan.study.cells[:3]):
        records.add(one, row(one, auroc=place / 8))
    found = plan.rows(plan.recipes[0], records)
    assert list(zip(found["line"], found["seed"], found["auroc"], strict=True)) == [
        ("plain", 0, 0.0),
        ("plain", 1, 0.25),
        ("unaware", 0, 0.125),
    ]


def test_a_line_without_rows_changes_no_other(tmp_path: Path) -> None:
    plan = toy_plan()
    records = Records(tmp_path / "rows.csv")
    assert plan.rows(plan.recipes[0], records).empty
    for one in plan.study.cells[1::2]:
        records.add(one, row(one))
    found = plan.rows(plan.recipes[0], records)
    assert list(found["line"]) == ["unaware", "unaware"]
    assert found["auroc"].dtype == float
    assert found["seed"].dtype == int
    table = summarised(plan.recipes[0], found)
    assert set(table["line"]) == {"unaware"}
    assert table["published"].isna().all()


def test_curves_are_of_their_family_and_floors_see_no_graph() -> None:
    plan = read_recipe("tradeoff", quick=True)
    values = {line.name: [0.5] for line in plan.lines}
    table = reproduce.with_curves(plan, summarised(plan, rows(values, dataset="bail")))
    of = table.drop_duplicates("line").set_index("line").to_dict("index")
    for line in plan.lines:
        if line.family:
            assert (of[line.name]["family"], of[line.name]["order"]) == (line.family, line.value)
    orders = [row["order"] for row in of.values() if row["family"] == "GEAR"]
    assert sorted(orders) == [0, 0.6]
    assert of["boosted trees"]["family"] == "boosted trees"
    assert math.isnan(of["boosted trees"]["order"])
    assert {line for line, row in of.items() if row["floor"]} == {
        "logistic regression",
        "logistic, s unseen",
        "logistic, X − s·v",
        "logistic, v erased",
        "boosted trees",
    }


def _numbers(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"\d\.\d{3}", text)]


def test_markdown_latex_and_csv_have_the_same_figures(tmp_path: Path) -> None:
    plan = Reproduction((PLAN,), (0, 1, 2), device="cpu")
    records = Records(tmp_path / "rows.csv")
    for place, one in enumerate(plan.study.cells):
        values: dict[str, Any] = {
            name: (7 * place + 3 * i) % 11 / 11 for i, name in enumerate(METRICS)
        }
        values |= {"r2": None} if place % 3 == 2 else {}
        records.add(one, row(one, **values))
    written = write_results(plan, records, tmp_path)
    assert set(written.parts) == {"small", "made", "disagreements", "verdicts"}
    assert written.verdicts == []
    table = pd.read_csv(tmp_path / "small.csv")
    assert list(dict.fromkeys(table["line"])) == [line.name for line in LINES]
    markdown = [
        re.sub(r"\([^)]*\)", "", line)
        for line in (tmp_path / "small.md").read_text().splitlines()
        if line.startswith("| *")
    ]
    latex = [
        line
        for line in (tmp_path / "small.tex").read_text().splitlines()
        if line.endswith(r"\\") and not line.startswith("method")
    ]
    expected = []
    for line in LINES:
        found = [cell(table, line.name, metric) for metric in SHOWN]
        for names in (("mean", "std"), ("published", "published_std")):
            figures = [f"{one[name]:.3f}" for one in found for name in names]
            known = [float(figure) for figure in figures if figure != "nan"]
            expected += [known] if known else []
    assert [_numbers(line) for line in markdown] == expected
    assert [_numbers(line) for line in latex] == expected
    assert all(line.count("&") == len(SHOWN) for line in latex)
    assert r"SAGE\_1" in latex[2]
    assert not set("Δδ²−·") & set("".join(latex))
    assert "A small table" in (tmp_path / "results.md").read_text()
    assert agreement(table) in (tmp_path / "small.md").read_text()


def about(cell: Cell) -> tuple[str, str, int]:
    return cell.config.dataset, cell.entry.label, cell.config.seed


def test_every_run_that_a_table_needs_is_there_once() -> None:
    found = [about(cell) for cell in Reproduction.of(["all"], (4, 2)).study.cells]
    wanted = {
        (dataset, line.entry.label, seed)
        for name in NAMES
        for dataset in read_recipe(name).datasets
        for line in read_recipe(name).lines
        for seed in (4, 2)
    }
    assert len(found) == len(wanted)
    assert {*found} == wanted
    names = {cell.name for cell in Reproduction.of(["all"], (4, 2)).study.cells}
    assert len(names) == len(found)
    half = len(found) // 2
    assert {seed for _, _, seed in found[:half]} <= {4}, "one seed of everything before the next"


def test_a_table_has_as_many_seeds_as_its_recipe_unless_the_user_says() -> None:
    names = ["table2", "tradeoff"]

    def seeds(plan: Reproduction) -> list[int]:
        return [len({cell.config.seed for cell in of}) for of in plan.study.parts.values()]

    plan = Reproduction.of(names)
    assert seeds(plan) == [10, 5]
    # Five seeds of both, then five more of the first alone, whose runs are partly the other's.
    assert len(plan.study.cells) == len(Reproduction.of(names, range(5)).study.cells) + len(
        Reproduction.of(["table2"], range(5, 10)).study.cells
    )
    assert seeds(Reproduction.of(names, range(10, 17))) == [7, 7]
    assert seeds(Reproduction.of(names, quick=True)) == [1, 1]


def test_tables_share_their_runs() -> None:
    alone = [len(Reproduction.of([name], (0,)).study.cells) for name in ("table2", "table3")]
    both = Reproduction.of(["table2", "table3"], (0,)).study
    # GEAR on three graphs.
    assert len(both.cells) == sum(alone) - 3
    assert [len(of) for of in both.parts.values()] == alone
    # Two curves share a point, which is one run.
    parts = Reproduction.of(["figure5"], (0,)).study.parts
    assert len(parts["figure5"]) == len({cell.key for cell in parts["figure5"]})
    assert Reproduction.of(["table2", "all", "table2"], (0,)).recipes[0].name == "table2"
    assert len(Reproduction.of(["table2", "all"], (0,)).recipes) == len(NAMES)


def test_runs_are_those_that_the_paper_reports() -> None:
    plan = Reproduction.of(["table2"], (3,), only=["bail"], device="cpu")
    for cell in plan.study.cells:
        config = cell.config
        assert (config.dataset, config.seed, config.split) == ("bail", 3, "released")
        assert (config.device, config.self_people) == ("cpu", 0)
        assert config.method == cell.entry.method


def test_a_reproduction_of_some_datasets() -> None:
    plan = Reproduction.of(["table2", "figure5"], (0,), only=["credit", "bail"])
    assert [plan.datasets_of(one) for one in plan.recipes] == [("bail", "credit"), ("bail",)]
    assert {cell.config.dataset for cell in plan.study.cells} == {"bail", "credit"}
    with pytest.raises(ParameterError, match="datasets of figure5: got synthetic; allowed: bail"):
        Reproduction.of(["figure5"], (0,), only=["synthetic"])
    with pytest.raises(UnknownNameError, match="nosuch"):
        Reproduction.of(["table2"], (0,), only=["nosuch"])
    with pytest.raises(UnknownNameError, match="did you mean 'table1'"):
        Reproduction.of(["table1 "], (0,))
