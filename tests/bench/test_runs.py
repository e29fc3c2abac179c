"""A benchmark run: what it writes, how it goes on, what it refuses."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import torch

from fairgear.bench import runner
from fairgear.bench.config import CASES, Bench
from fairgear.bench.plot import performance_svg
from fairgear.bench.report import write_report
from fairgear.bench.roofline import GEMM
from fairgear.bench.store import COLUMNS, MACHINE, Store
from fairgear.bench.table import blocks, duration, memory
from fairgear.bench.worker import MeasurementFailed
from fairgear.cli import main
from fairgear.errors import FileError
from fairgear.report.blocks import with_blocks

SIDES = ("fairgear", "other")


class FakeWorker:
    """Answers at once; remembers what it was asked."""

    asked: list[tuple[str, str | None]] = []  # noqa: RUF012  # one for all, emptied by the fixture
    fails: set[str] = set()  # noqa: RUF012  # as above

    def __init__(self, plan: Bench, kind: str = "", n: int = 0) -> None:
        self.n = n
        self.edges = 10 * n

    def __enter__(self) -> FakeWorker:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def ask(self, case: str, side: str | None = None) -> Any:
        self.asked.append((case, side))
        if case == MACHINE:
            yield {"side": GEMM, "unit": "operations/s", "rate": 1e9}
        elif case == "pipeline":
            yield {"side": "egos", "unit": "graph", "seconds": 1.0, "process_mb": 100.0}
            if case in self.fails:
                raise MeasurementFailed(case, None, "killed")
            yield {"side": "total", "unit": "graph", "seconds": 2.0, "process_mb": 150.0}
        elif side is not None:
            yield {"peak_mb": self.n / 100, "process_mb": 400.0}
        else:
            for place, name in enumerate(SIDES):
                yield {
                    "side": name,
                    "against": SIDES[0] if place else "",
                    "unit": "person",
                    "whole": self.n,
                    "seconds": 0.001 * (1 + place),
                    "operations": 1e5,
                    "memory": True,
                }


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[FakeWorker]:
    monkeypatch.setattr(runner, "Worker", FakeWorker)
    FakeWorker.asked, FakeWorker.fails = [], set()
    return FakeWorker


def test_rows_are_written_and_a_second_call_measures_what_is_new(
    worker: type[FakeWorker], tmp_path: Path
) -> None:
    plan = Bench(cases=("egos", "pipeline"), kinds=("similarity",), sizes=(1000, 10_000))
    store = runner.execute(plan, tmp_path)
    assert worker.asked.count(("egos", None)) == 2
    assert worker.asked.count(("egos", "other")) == 2
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(store.rows) == 1 + 2 * 2 + 2 * 2
    assert tuple(rows[0]) == COLUMNS
    other = next(row for row in rows if row["side"] == "other")
    assert float(other["ratio"]) == pytest.approx(2.0)
    assert other["peak_mb"] == "10.0"
    worker.asked.clear()
    runner.execute(plan, tmp_path)
    assert worker.asked == []
    more = Bench(cases=("egos", "audit"), kinds=("similarity",), sizes=(1000,))
    assert len(runner.execute(more, tmp_path).rows) == len(rows) + 2
    assert worker.asked == [("audit", None), ("audit", "fairgear"), ("audit", "other")]


def test_what_failed_is_measured_again_from_its_beginning(
    worker: type[FakeWorker], tmp_path: Path
) -> None:
    plan = Bench(cases=("pipeline", "egos"), kinds=("similarity",), sizes=(1000,))
    worker.fails = {"pipeline"}
    store = runner.execute(plan, tmp_path)
    # Its first stage is there, and others were measured all the same.
    assert [row["side"] for row in store.rows[1:]] == ["egos", *SIDES]
    worker.fails = set()
    store = runner.execute(plan, tmp_path)
    assert [row["side"] for row in store.rows[1:]] == [*SIDES, "egos", "total"]


def test_a_folder_of_other_settings_is_refused(worker: type[FakeWorker], tmp_path: Path) -> None:
    runner.execute(Bench(cases=("egos",), sizes=(1000,)), tmp_path)
    with pytest.raises(FileError, match="seed"):
        Store(tmp_path, Bench(seed=1))
    (tmp_path / "results.json").write_text("[]")
    with pytest.raises(FileError, match="did not write"):
        Store(tmp_path, Bench())


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["--only", "nosuch"], "pagerank"),
        (["--only", "egos", "egos"], "once"),
        (["--kinds", "small-world"], "scale-free"),
        (["--sizes", "10"], "500"),
        (["--sizes", "2000", "1000"], "rise"),
        (["--threads", "0"], "--threads"),
        (["--repeats", "0"], "--repeats"),
        (["--device", "tpu"], "cuda"),
        (["--seed", "-1"], "--seed"),
        (["--sizes", "many"], "sizes"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    typed: list[str],
    named: str,
    worker: type[FakeWorker],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["bench", *typed, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert named in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert worker.asked == []


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_file_in_place_of_the_folder_is_refused_before_anything_is_measured(
    inside: str, worker: type[FakeWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert main(["bench", "--quick", "--out", str(tmp_path / "file" / inside)]) == 2
    said = capsys.readouterr().err
    assert "--out" in said
    assert said.count("\n") == 1
    assert worker.asked == []
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_card_that_is_not_there_is_bad_input(
    worker: type[FakeWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "--device", "cuda", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_prints_tables_or_json(
    worker: type[FakeWorker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["bench", "--quick", "--only", "egos", "pipeline", "--out", str(tmp_path)]
    assert main(typed) == 0
    table = capsys.readouterr().out
    assert "other" in table
    assert "Pipeline" in table
    assert main([*typed, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == json.loads((tmp_path / "results.json").read_text())["rows"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "results.csv",
        "results.json",
        "performance.svg",
        "performance.md",
    }


def rows() -> list[dict[str, Any]]:
    about = {"device": "cpu", "threads": 2, "commit": "abc", "measured": "2020-01-02T03:04:05"}
    found: list[dict[str, Any]] = [
        {"case": MACHINE, "kind": "cpu", "n": 0, "side": GEMM, "unit": "op/s", "rate": 1e9}
    ]
    for kind in ("scale-free", "similarity"):
        for n in (1000, 10_000):
            for side in ("fairgear <&>", "other"):
                row: dict[str, Any] = {
                    "case": "egos",
                    "kind": kind,
                    "n": n,
                    "side": side,
                    "unit": "person",
                }
                row |= {"seconds": 1e-3, "whole": n, "peak_mb": n / 10, "operations": 1e5}
                found.append(row | {"against": "" if side != "other" else "fairgear <&>"})
    return [dict.fromkeys(COLUMNS) | row | about for row in found]


def test_the_plot_is_well_formed_and_says_how_cost_grows() -> None:
    root = ET.fromstring(performance_svg(rows()))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "fairgear <&>, scale-free: slope 1.00" in texts
    assert "egos: seconds, whole graph" in texts
    lines = list(root.iter("{http://www.w3.org/2000/svg}polyline"))
    assert len(lines) == 8
    # Ten times the size and the seconds: one decade to the right, and up.
    first, last = (tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split())
    assert last[0] - first[0] == 300
    assert first[1] - last[1] == 190


def test_an_empty_run_still_makes_a_plot(tmp_path: Path) -> None:
    write_report([], tmp_path)
    ET.parse(tmp_path / "performance.svg")


def test_tables_say_the_share_of_the_limit_of_fairgears_side_alone() -> None:
    lines = blocks(rows())["egos"].splitlines()
    assert "10 % of GEMM" in lines[2]
    assert "GEMM" not in lines[3]
    assert "1 ms" in lines[2]


def test_blocks_of_a_page_are_replaced_and_the_rest_stays() -> None:
    page = "# P\n" + "".join(
        f"<!-- {name} -->\nold\n<!-- /{name} -->\nafter {name}\n" for name in blocks(rows())
    )
    once = with_blocks(page, blocks(rows()))
    assert "old" not in once
    assert "after egos" in once
    assert with_blocks(once, blocks(rows())) == once
    with pytest.raises(ValueError, match="one block 'egos'"):
        with_blocks("# P\n", {"egos": "text"})


def test_a_page_knows_every_case() -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    for case in (*CASES, MACHINE, "made"):
        assert f"<!-- {case} -->" in page


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(2.5e-6, "2.5 µs"), (0.0123, "12.3 ms"), (1.0, "1 s"), (1234.5, "1,234 s"), (None, "")],
)
def test_durations(seconds: float | None, written: str) -> None:
    assert duration(seconds) == written


def test_memory_in_words() -> None:
    assert memory(512.4) == "512 MB"
    assert memory(2048.0) == "2.00 GB"
