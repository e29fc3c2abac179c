"""`fairgear reproduce`: what it leaves, what it prints, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fairgear as fg
from fairgear.cli import main
from fairgear.metrics import METRICS
from fairgear.studies import engine, reproduce
from fairgear.studies.claims import HOLDS
from fairgear.studies.pool import Outcome
from fairgear.studies.records import KEY
from fairgear.studies.reproduce import Reproduction
from fairgear.studies.spec import Cell
from tests.studies import toy

TABLES = ["table2", "table3", "tableS1", "figure5", "tradeoff"]
# Of the paper's Table 1.
SYNTHETIC = {"nodes": 2000, "edges": 4120, "features": 26, "average_degree": 5.120}
SYNTHETIC |= {"intra_group_edges": 2379, "inter_group_edges": 1741}


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that was said, and nothing else."""
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("fairgear: ")
    return line


def test_table_1_counts_the_graph_beside_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["reproduce", "table1", "--datasets", "synthetic", "--out", str(out)]) == 0
    assert f"{out}/results.md" in capsys.readouterr().out
    counted, told = pd.read_csv(out / "table1.csv").to_dict("records")
    assert (counted.pop("source"), told.pop("source")) == ("counted", "published")
    assert counted.pop("dataset") == told.pop("dataset") == "synthetic"
    assert told == SYNTHETIC
    graph = fg.datasets.load("synthetic")
    ends = {(min(pair), max(pair)) for pair in graph.edge_index.t().tolist() if pair[0] != pair[1]}
    within = sum(bool(graph.sens[one] == graph.sens[other]) for one, other in ends)
    assert counted == {
        "nodes": graph.num_nodes,
        "edges": len(ends),
        "features": graph.x.shape[1],
        # The paper counts a loop at every node.
        "average_degree": pytest.approx(2 * len(ends) / graph.num_nodes + 1, abs=5e-4),
        "intra_group_edges": within,
        "inter_group_edges": len(ends) - within,
    }
    # Another draw from the same model: what is drawn differs by some hundredths.
    assert counted == {name: pytest.approx(value, rel=0.05) for name, value in SYNTHETIC.items()}
    for name in ("table1.md", "table1.tex", "results.md"):
        figures = re.findall(r"\d+(?:\.\d+)?", (out / name).read_text().replace(",", ""))
        for value in (*counted.values(), *told.values()):
            assert (f"{value:.3f}" if isinstance(value, float) else str(value)) in figures, name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "what to reproduce: got nothing; allowed: table1, table2,"),
        (["table4"], "unknown table or figure: got 'table4'; allowed: table1, table2,"),
        (["table2", "--seeds", "x"], "--seeds: got 'x'; allowed: how many"),
        (["table2", "--seeds", "0"], "--seeds: got '0'"),
        (["table2", "--seeds", "1-99999999999999999999"], "at most 1,000"),
        (["table2", "--seeds", "5-3"], "--seeds: got '5-3'"),
        (["table2", "--seeds", "-3"], "--seeds"),
        (["table2", "--jobs", "-1"], "--jobs: got -1; allowed: 0 or more"),
        (["table2", "--jobs", "many"], "--jobs"),
        (["table2", "--datasets", "nosuch"], "unknown dataset: got 'nosuch'; allowed: synthetic"),
        (["figure5", "--datasets", "german"], "datasets of figure5: got german; allowed: bail"),
        (["table2", "--device", "tpu", "--jobs", "0"], "device: got 'tpu'"),
    ],
)
def test_what_makes_no_sense_is_refused_on_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["reproduce", *arguments, "--out", str(out)]) == 2
    assert message in refusal(capsys)
    assert not out.exists()


def test_rows_of_something_else_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("name,age\nAnna,30\n")
    typed = ["reproduce", "table2", "--rows", str(rows), "--out", str(tmp_path / "out")]
    assert main(typed) == 2
    assert f"rows {rows}: got no table of finished runs" in refusal(capsys)
    assert rows.read_text() == "name,age\nAnna,30\n"
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of all runs on Bail, made up: GEAR is good, C-ENC is bad, all else even."""
    rng = np.random.default_rng(0)
    made = []
    for cell in Reproduction.of(TABLES, range(5), only=["bail"]).study.cells:
        good = {"gear-paper": 0.3, "c-enc": -0.3}.get(cell.entry.method, 0.0)
        key = dict(zip(KEY, cell.key, strict=True))
        values = {
            name: 0.5 + (good if metric.direction == "higher" else -good) + rng.normal(0, 1e-3)
            for name, metric in METRICS.items()
        }
        made.append(key | values | {"seconds": 1.0})
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    pd.DataFrame(made).to_csv(path, index=False)
    return path


def typed(rows: Path, out: Path, *what: str) -> list[str]:
    flags = ["--seeds", "5", "--datasets", "bail", "--jobs", "0", "--rows", str(rows)]
    return ["reproduce", *what, *flags, "--out", str(out)]


def test_rows_of_another_machine_make_tables_figures_and_verdicts(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows.read_bytes()
    assert main(typed(rows, tmp_path, *TABLES)) == 0
    assert rows.read_bytes() == before
    tables = {f"{name}.{kind}" for name in TABLES for kind in ("md", "csv", "tex")}
    drawn = ("figure4", "figure5", "tradeoff-bail", "tradeoff-r2-bail")
    figures = {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
    page = {"results.md", "verdicts.md", "verdicts.csv"}
    assert {entry.name for entry in tmp_path.iterdir()} == tables | figures | page
    for name in figures:
        start = (tmp_path / name).read_bytes()[:200]
        assert (b"PNG" if name.endswith("png") else b"<?xml") in start
    text = (tmp_path / "results.md").read_text()
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert [head.split(",")[0] for head in heads] == [
        "## What was run",
        "## The paper's claims",
        "## Table 2",
        "## Table 3",
        "## Table S1",
        "## Figure 5",
        "## Trade-offs",
        "## Where the paper's tables differ",
    ]
    said = capsys.readouterr().out
    assert "The paper's claims" in said
    assert f"{tmp_path}/results.md" in " ".join(said.split())


def test_verdicts_are_those_of_the_rows(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*typed(rows, tmp_path, "table2"), "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert {*found} == {"out", "verdicts"}
    assert found["out"] == str(tmp_path)
    # Four claims by three measures each, one by two, and NIFTY's; GEAR was made to be better than
    # all.
    ours = [one for one in found["verdicts"] if one["subject"] == "GEAR"]
    assert {one["verdict"] for one in ours} == {HOLDS}
    assert (len(ours), len(found["verdicts"])) == (4 * 3 + 2, 18)
    written = pd.read_csv(tmp_path / "verdicts.csv")
    assert written["because"].tolist() == [one["because"] for one in found["verdicts"]]
    text = (tmp_path / "verdicts.md").read_text()
    assert "| the lowest of all graph methods in δCF and R² | GEAR | 3 | 0 | 0 |" in text
    lines = [line for line in text.splitlines() if "| bail |" in line]
    assert [
        f"| {one['verdict']} | {one['because']} |" in line
        for line, one in zip(lines, found["verdicts"], strict=True)
    ] == [True] * 18


def test_rows_of_some_lines_alone_make_what_they_can(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    some = pd.read_csv(rows)
    some = some[~some["method"].str.startswith("nifty")]
    some.to_csv(tmp_path / "some.csv", index=False)
    assert main([*typed(tmp_path / "some.csv", tmp_path, "table2", "figure5"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["verdicts"]
    missing = {one["claim"] for one in found if one["because"] == "runs are missing"}
    assert missing == {
        "NIFTY is fairer than the network that it is built on",
        "better than all fair methods in prediction",
        "performs well in ΔEO and ΔDP, that is no worse than the best fair method",
        "lower than all fair methods in δCF and R²",
        "the lowest of all graph methods in δCF and R²",
    }
    assert "NIFTY" not in (tmp_path / "table2.csv").read_text()
    assert (tmp_path / "figure5.svg").exists()


def test_no_rows_at_all_make_an_empty_page(tmp_path: Path) -> None:
    assert main(typed(tmp_path / "none.csv", tmp_path / "out", *TABLES)) == 0
    assert {entry.name for entry in (tmp_path / "out").iterdir()} == {
        "results.md",
        "verdicts.md",
        "verdicts.csv",
    }
    text = (tmp_path / "out" / "results.md").read_text()
    assert "0 of" in text
    assert "## Table" not in text


def test_a_quick_study_says_so_and_judges_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--quick", "--seeds", "5", "--datasets", "bail", "--jobs", "0", "--out", str(tmp_path)]
    assert main(["reproduce", "table2", *flags, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"] == []
    text = (tmp_path / "results.md").read_text()
    assert "Nothing here says how good a method is" in text


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What somebody types for the small study; nothing but its recipe is known."""
    monkeypatch.setattr(reproduce, "read_recipe", toy.known)
    typed = ["reproduce", toy.NAME, "--seeds", "2", "--device", "cpu", "--jobs", "1"]
    return [*typed, "--out", str(tmp_path)]


def test_runs_that_fail_are_exit_status_1_and_the_next_call_makes_them_alone(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calls: list[list[str]] = []

    def outcomes(cells: list[Cell], *_: Any) -> Iterator[Outcome[Cell]]:
        calls.append([cell.name for cell in cells])
        for cell in cells:
            bad = cell.name == "synthetic-logistic-1" and len(calls) == 1
            yield Outcome(cell, None if bad else toy.row(cell), "no luck")

    monkeypatch.setattr(engine, "outcomes", outcomes)
    assert main(command) == 1
    said = capsys.readouterr()
    assert said.out == ""
    *lines, last = said.err.splitlines()
    assert last.startswith("fairgear: runs: got 1 that failed; ")
    assert "synthetic-logistic-1: no luck" in lines
    # The tables of all others are there.
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 3
    seeds = pd.read_csv(tmp_path / "toy.csv").groupby("line")["seeds"].max().to_dict()
    assert seeds == {"plain": 1, "unaware": 2}
    assert main(command) == 0
    assert calls[1:] == [["synthetic-logistic-1"]]
    table = (tmp_path / "toy.csv").read_bytes()
    assert main(command) == 0
    assert len(calls) == 2
    assert (tmp_path / "toy.csv").read_bytes() == table


def test_an_interrupted_command_says_that_it_can_go_on(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def outcomes(cells: list[Cell], *_: Any) -> Iterator[Outcome[Cell]]:
        yield Outcome(cells[0], toy.row(cells[0]))
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "outcomes", outcomes)
    assert main(command) == 130
    assert "interrupted; the same command resumes" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 1
