"""Comparisons: which runs there are, what the tables say, and your own files."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.cli import main
from fairgear.errors import FairgearError
from fairgear.methods import METHODS
from fairgear.metrics import METRICS
from fairgear.studies.compare import comparison, remarks, write_comparison
from fairgear.studies.published import beside_published, published
from fairgear.studies.records import Records
from fairgear.studies.spec import Entry, Study
from fairgear.studies.tables import comparison_markdown, published_markdown, summary
from tests.graph.people import FRIENDS, PEOPLE
from tests.studies.toy import row

COLUMNS = {"label": "approved", "sensitive": "sex", "edges": str(FRIENDS)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"datasets": ["nosuch"]}, "unknown dataset: got 'nosuch'"),
        ({"methods": ["nosuch"]}, "nosuch"),
        ({"methods": ["logistic", "gcn:dim=wide"]}, "setting dim: got 'wide'"),
        ({"split": "halves"}, "unknown split: got 'halves'"),
        ({"split": "given"}, "unknown split: got 'given'"),
        ({"columns": {"label": "approved"}}, "--label: got the dataset 'synthetic'"),
        ({"datasets": ["people.csv"]}, "--sensitive: got none for people.csv"),
        ({"datasets": ["nowhere.csv"], "columns": COLUMNS}, "nowhere.csv"),
    ],
)
def test_a_comparison_is_checked_before_any_work(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"datasets": ["synthetic"], "methods": ["logistic"], "seeds": (0,)}
    with pytest.raises(FairgearError, match=message):
        comparison(**given | change)


def test_all_is_every_method_and_names_count_once() -> None:
    every = comparison(["synthetic"], ["all"], (0,)).cells
    assert tuple(cell.entry.label for cell in every) == tuple(METHODS)
    study = comparison(["synthetic", "synthetic"], ["logistic", "gcn", "logistic"], (0, 1))
    assert [(cell.config.seed, cell.config.method) for cell in study.cells] == [
        (0, "logistic"),
        (0, "gcn"),
        (1, "logistic"),
        (1, "gcn"),
    ]
    assert {cell.config.split for cell in study.cells} == {"released"}


def test_a_quick_comparison_trains_little_and_says_so_in_its_labels() -> None:
    study = comparison(["synthetic"], ["gcn", "logistic", "gear"], (0,), quick=True)
    assert [cell.entry.label for cell in study.cells][:2] == ["gcn:steps=40", "logistic"]
    assert study.cells[2].config.settings["steps"] == 40
    (paper,) = comparison(["synthetic"], ["gear-paper"], (0,), quick=True).cells
    settings = paper.config.settings
    assert (settings["steps"], settings["generator"]["steps"]) == (40, 40)


def test_your_own_file_beside_a_dataset() -> None:
    study = comparison([str(PEOPLE), "bail"], ["logistic"], (0,), columns=COLUMNS)
    own, bail = (cell.config for cell in study.cells)
    assert (own.dataset, own.split) == (str(PEOPLE), "sixty-twenty-twenty")
    assert (own.data.label, own.data.sensitive) == ("approved", "sex")
    files = (PEOPLE, Path(own.data.edges))
    hashes = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    assert own.data.sha256.split() == hashes, "other content is another run"
    assert (bail.dataset, bail.split, bail.data.given()) == ("bail", "released", [])
    typed = comparison([str(PEOPLE), "bail"], ["logistic"], (0,), columns=COLUMNS, split="released")
    assert {cell.config.split for cell in typed.cells} == {"released"}


def recorded(study: Study, folder: Path) -> Records:
    """Made-up rows of all cells."""
    records = Records(folder / "runs.csv")
    for cell in study.cells:
        records.add(cell, row(cell, auroc=0.1 * cell.config.seed))
    return records


def test_tables_are_of_the_runs_at_hand(tmp_path: Path) -> None:
    small = comparison(["synthetic"], ["logistic", "logistic-unaware"], (0, 1))
    records = recorded(small, tmp_path)
    found = write_comparison(small, records, tmp_path)
    assert list(dict.fromkeys(found["method"])) == ["logistic", "logistic-unaware"]
    names = {"runs.csv", "summary.csv", "table.md", "table.tex"}
    assert {path.name for path in tmp_path.iterdir() if path.suffix != ".lock"} == names, (
        "the paper has no such method"
    )
    larger = comparison(["synthetic"], ["gcn", "logistic"], (0, 1, 2))
    records.add(larger.cells[0], row(larger.cells[0]))
    found = write_comparison(larger, records, tmp_path)
    counts = found.groupby("method", sort=False)["seeds"].max()
    assert counts.to_dict() == {"gcn": 1, "logistic": 2}, "missing runs are left out"
    assert (tmp_path / "published.md").exists()
    # What the paper has too goes when no method of the study is in it.
    write_comparison(small, records, tmp_path)
    assert not (tmp_path / "published.md").exists()
    assert not (tmp_path / "published.csv").exists()
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 5, "rows of other studies stay"


@pytest.mark.parametrize(("split", "there"), [("released", True), ("sixty-twenty-twenty", False)])
def test_published_figures_are_set_beside_their_own_split_alone(
    split: str, there: bool, tmp_path: Path
) -> None:
    study = comparison(["synthetic"], ["gcn"], (0,), split=split)
    write_comparison(study, recorded(study, tmp_path), tmp_path)
    assert (tmp_path / "published.md").exists() == there
    assert (tmp_path / "published.csv").exists() == there


def test_no_runs_make_empty_tables(tmp_path: Path) -> None:
    study = comparison(["synthetic"], ["gcn"], (0,))
    assert write_comparison(study, Records(tmp_path / "runs.csv"), tmp_path).empty


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["compare", "--methods", "logistic", "--seeds", "2", "--out", str(tmp_path / "out")]
    study = comparison(["synthetic"], ["logistic"], (0, 1))
    recorded(study, tmp_path / "out")
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["summary"]
    assert {line["metric"] for line in found} == set(METRICS)
    assert main([*typed, "--jobs", "0"]) == 0
    assert "| `logistic` |" in capsys.readouterr().out
    assert main(["compare", "--methods", "nosuch", "--out", str(tmp_path / "no")]) == 2
    assert "nosuch" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


ENTRIES = [Entry.parse(name) for name in ("gear", "gear:dim=8", "graphsage", "gcn", "logistic")]


def table(**auroc_and_delta: tuple[float, float]) -> pd.DataFrame:
    """Two datasets; the second has all methods alike."""
    labels = {"gear0": "gear:dim=8"}
    rows = []
    for name, (auroc, delta) in auroc_and_delta.items():
        for dataset, values in (("bail", (auroc, delta)), ("credit", (0.5, 0.5))):
            metrics = dict.fromkeys(METRICS, 0.25)
            metrics |= {"auroc": values[0], "delta_cf": values[1]}
            method = labels.get(name, name)
            rows += [
                {"dataset": dataset, "method": method, "seed": seed, **metrics} for seed in (0, 1)
            ]
    return summary(pd.DataFrame(rows))


def test_where_gear_stands_and_where_no_graph_is_needed() -> None:
    found = table(
        gear=(0.80, 0.01),
        gear0=(0.90, 0.02),
        graphsage=(0.85, 0.10),
        gcn=(0.70, 0.015),
        logistic=(0.95, 0.005),
    )
    told = remarks(found, ENTRIES)
    assert told["bail"] == [
        "Without a graph, `logistic` has the better AUROC: 0.950 against 0.900 of `gear:dim=8`, "
        "the best that reads the graph.",
        "Without a graph, `logistic` has the better δCF (strict): 0.005 against 0.010 of `gear`, "
        "the best that reads the graph.",
        "`gear` has a lower δCF (strict) than every method but gear that reads the graph (0.010; "
        "next `gcn` 0.015), and a lower AUROC than the best of them (0.800; `graphsage` 0.850).",
        "`gear:dim=8` has no lower δCF (strict) than `gcn`, which reads the graph too (0.020; "
        "0.015), and an AUROC no lower than theirs (0.900; best `graphsage` 0.850).",
    ]
    # Where all are alike no floor is better; equal is not lower, and no lower is equal.
    assert len(told["credit"]) == 2
    assert all(
        "has no lower δCF" in line and "an AUROC no lower" in line for line in told["credit"]
    )
    text = comparison_markdown(found, told)
    assert all(f"- {line}" in text for lines in told.values() for line in lines)
    assert text.index("Without a graph") < text.index("### credit")


def test_gear_without_its_fairness_weight_is_a_rival() -> None:
    rows = [
        {"dataset": "bail", "method": label, "seed": 0, **dict.fromkeys(METRICS, value)}
        for label, value in (("gear", 0.3), ("gear:fairness_weight=0", 0.2), ("gcn", 0.4))
    ]
    entries = [Entry.parse(str(row["method"])) for row in rows]
    (told,) = remarks(summary(pd.DataFrame(rows)), entries)["bail"]
    assert told.startswith("`gear` has no lower δCF (strict) than `gear:fairness_weight=0`, which")


def test_gear_without_a_graph_is_a_floor() -> None:
    rows = [
        {"dataset": "bail", "method": label, "seed": 0, **dict.fromkeys(METRICS, value)}
        for label, value in (("gear:encoder=mlp", 0.4), ("gcn", 0.3))
    ]
    entries = [Entry.parse(str(row["method"])) for row in rows]
    told = remarks(summary(pd.DataFrame(rows)), entries)["bail"]
    assert len(told) == 2
    assert all(line.startswith("Without a graph, `gear:encoder=mlp` has the") for line in told)


def test_nothing_is_said_of_what_is_not_there() -> None:
    found = table(gear=(0.8, math.nan), logistic=(0.9, 0.1))
    told = remarks(found, [ENTRIES[0], ENTRIES[-1]])
    assert [line.split(" has")[0] for line in told["bail"]] == ["Without a graph, `logistic`"]
    alone = table(graphsage=(0.8, 0.1))
    assert remarks(alone, [ENTRIES[2]]) == {"bail": [], "credit": []}


def test_the_published_figures_are_the_papers() -> None:
    rows = set(published("table2").itertuples(index=False, name=None))
    assert len(rows) == 3 * 8 * 7
    assert ("bail", "GraphSAGE", "auroc", 0.905, 0.021) in rows
    assert ("credit", "GEAR", "delta_cf_released", 0.001, 0.001) in rows
    assert ("synthetic", "C-ENC", "accuracy", 0.665, 0.023) in rows
    assert {row[2] for row in rows} <= set(METRICS)
    both = beside_published(table(**{name: (0.5, 0.5) for name in METHODS}))
    assert set(both.method) < set(METHODS)
    assert both.method.nunique() == 8


def test_how_far_off_by_hand() -> None:
    both = beside_published(table(graphsage=(0.95, 0.1), logistic=(0.9, 0.1)))
    assert set(both.method) == {"graphsage"}
    (one,) = both[(both.dataset == "bail") & (both.metric == "auroc")].to_dict("records")
    assert one["off"] == pytest.approx((0.95 - 0.905) / 0.021)
    text = published_markdown(both)
    assert "**0.950** (0.905 ± 0.021, +2.1 σ)" in text
    # Published F1 on bail: 0.804 ± 0.032.
    assert "**0.250** (0.804 ± 0.032, -17.3 σ)" in text
    (near,) = both[(both.dataset == "bail") & (both.metric == "delta_dp")].to_dict("records")
    assert near["off"] == pytest.approx((0.25 - 0.086) / 0.039)


@pytest.mark.parametrize("name", list(METHODS))
def test_what_reads_no_graph_is_known(name: str) -> None:
    floors = {"logistic", "logistic-unaware", "logistic-residual", "logistic-projected", "boosting"}
    assert METHODS[name].reads_graph == (name not in floors)
