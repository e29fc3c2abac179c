"""The first minutes: `fairgear` alone, and the demo."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from fairgear.cli import main
from tests.cli.test_app import COMMANDS


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str]) -> str:
    assert main([]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys).splitlines()
    assert len(lines) <= 8
    assert max(map(len, lines)) <= 96
    typed = [line.split("  fairgear ")[1].split() for line in lines if "  fairgear " in line]
    assert [words[0] for words in typed] == ["demo", "data", "audit", "--help"]
    for words in typed[:-1]:
        assert words[0] in COMMANDS
        # Each flag is one of that command.
        assert main([words[0], "--help"]) == 0
        helped = capsys.readouterr().out
        assert all(word in helped for word in words if word.startswith("--"))
    assert "Latest report" not in "\n".join(lines)


def test_the_latest_report_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = time.time()
    for name, hours in (("runs/old", 50), ("audits/newest", 3), ("runs/other", 4)):
        page = here / name / "report.html"
        page.parent.mkdir(parents=True)
        page.write_text("page")
        os.utime(page, (now, now - 3600 * hours - 60))
    (here / "runs" / "unfinished").mkdir()
    assert said(capsys).splitlines()[-1] == (
        f"Latest report: {Path('audits', 'newest', 'report.html')}, written 3 hours ago"
    )


def test_it_answers_at_once() -> None:
    code = (
        "import sys\nfrom fairgear.cli import main\nmain([])\n"
        "heavy = {'torch', 'numba', 'pandas', 'sklearn', 'torch_geometric'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_demo_is_the_main_job(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["demo", "--quick"]) == 0
    out = capsys.readouterr().out
    page = Path("runs", "synthetic", "report.html")
    assert page.is_file()
    assert "AUROC" in out
    assert out.splitlines()[-2:] == [
        f"Report: {page}",
        "Next, with your data: fairgear data people.csv --label approved --sensitive sex",
    ]
    assert not opened
    # The same run by its own name: nothing is left to do, and the numbers are the same.
    assert main(["run", "synthetic", "--quick", "--out", "runs/synthetic", "--json"]) == 0
    captured = capsys.readouterr()
    assert "nothing to do" in captured.err
    assert main(["demo", "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(captured.out)


def test_make_run_is_the_demo() -> None:
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert "$(BIN)/fairgear demo --out $(OUT)" in makefile
    assert "OUT ?= runs/synthetic" in makefile
