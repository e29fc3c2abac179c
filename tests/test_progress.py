from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from fairgear import progress


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80, highlight=False)
    monkeypatch.setattr(progress, "_console", console)
    return shown


@pytest.fixture
def log_file(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    written = io.StringIO()
    monkeypatch.setattr(progress, "_console", Console(file=written, width=80, highlight=False))
    return written


def test_bar_count_and_time_left_stay_at_80_columns(screen: io.StringIO) -> None:
    name = "a description so long that it would push everything else off a narrow terminal"
    with progress.bar(name, total=12_000, done=3) as bar:
        bar.advance(4, {"loss": 0.123456, "validation auroc": 0.987654, "flips": 0.001})
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    last = [line for line in re.split(r"[\r\n]", plain) if line.strip()][-1]
    assert len(last) <= 80
    assert "━" in last
    assert "7/12000" in last.replace(" ", "")
    assert ":--" in last or "0:" in last
    assert "a description" in last
    assert "…" in last


def test_without_a_terminal_a_bar_is_a_line_a_minute(
    log_file: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("fairgear.progress.time.monotonic", lambda: clock[0])
    with progress.bar("training", total=100, done=10) as bar:
        for _ in range(30):
            clock[0] += 10.0
            bar.advance(1, {"loss": 0.5})
    lines = log_file.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[0] == "training: 16 of 100  about 14 min left  loss 0.5"


def test_nothing_is_shown_in_a_quiet_block(
    log_file: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    with progress.quiet(), progress.bar("training", total=2) as bar:
        bar.advance()
        progress.log("a line")
    assert log_file.getvalue() == ""
    progress.log("a line")
    assert log_file.getvalue() == "a line\n"


def test_a_board_has_a_bar_for_each_part_and_a_text_beside_one(screen: io.StringIO) -> None:
    with progress.board({"table2": (1, 4), "all runs": (1, 9)}) as shown:
        shown.show("table2", 3)
        shown.show("all runs", 5, "about 2 min left")
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    lines = re.split(r"[\r\n]", plain)
    assert any("table2" in line and "1/4" in line for line in lines), "where it was interrupted"
    assert any("table2" in line and "3/4" in line for line in lines)
    assert any("all runs" in line and "5/9" in line and "2 min left" in line for line in lines)
    assert not any("table2" in line and "left" in line for line in lines)


def test_a_board_needs_a_terminal_and_somebody_to_watch(
    screen: io.StringIO, log_file: io.StringIO
) -> None:
    with progress.board({"table2": (1, 4)}) as shown:
        shown.show("table2", 2)
    with progress.quiet(), progress.board({"table2": (1, 4)}) as shown:
        shown.show("table2", 2)
    assert "table2" not in screen.getvalue() + log_file.getvalue()
