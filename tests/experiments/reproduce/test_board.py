"""What somebody sees while a study runs, and the commit that its rows bear."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from fairgear import progress
from fairgear.auditing.provenance import COMMIT, source_commit
from fairgear.experiments import provenance
from fairgear.progress import board, quiet


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would get."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, color_system=None)
    monkeypatch.setattr(progress, "_console", console)
    return written


def test_a_bar_for_each_table_with_what_is_done_and_a_text(screen: io.StringIO) -> None:
    with board({"table2": (1, 4), "all runs": (1, 9)}) as shown:
        shown.show("table2", 3)
        shown.show("all runs", 5, "about 2 min left")
    lines = screen.getvalue().splitlines()
    assert any("table2" in line and "3/4" in line for line in lines)
    assert any("all runs" in line and "5/9 about 2 min left" in line for line in lines)
    assert not any("table2" in line and "about" in line for line in lines)


def test_bars_stand_where_an_interrupted_study_left_them(screen: io.StringIO) -> None:
    with board({"table2": (1, 4)}):
        pass
    assert "1/4" in screen.getvalue()


def test_no_bars_where_nobody_watches(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    with quiet(), board({"table2": (1, 4)}) as shown:
        shown.show("table2", 2)
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress, "_console", Console(file=screen))
    with board({"table2": (1, 4)}) as shown:
        shown.show("table2", 2)
    assert "table2" not in screen.getvalue()


def commit_now() -> str:
    """Asked anew: a process asks once."""
    source_commit.cache_clear()
    return source_commit()


@pytest.fixture
def forgotten() -> Iterator[None]:
    yield
    source_commit.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_the_commit_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMIT, "abc")
    assert commit_now() == "abc"


@pytest.mark.usefixtures("forgotten")
def test_the_commit_of_a_checkout_has_a_star_once_files_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(COMMIT, raising=False)
    source = tmp_path / "src" / "fairgear" / "experiments" / "provenance.py"
    source.parent.mkdir(parents=True)
    source.write_text("1")
    monkeypatch.setattr(provenance, "__file__", str(source))
    assert commit_now() == "", "no checkout"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    full = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    short = commit_now()
    assert len(short) >= 7
    assert full.stdout.startswith(short)
    (tmp_path / "rows.csv").write_text("what runs have given is no code")
    assert commit_now() == short
    source.write_text("2")
    assert source_commit() == short, "the code that is loaded is the one of before"
    assert commit_now() == f"{short}*"
