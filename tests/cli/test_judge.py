"""`fairgear judge`: one line for what is refused, and a whole study on a graph of its own.

No test opens the sealed people of a dataset that is judged: the graph here is made for the test.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.studies.judging import opening, sampler, search
from fairgear.studies.judging import tables as results
from fairgear.studies.pool import Outcome
from fairgear.studies.records import Rows
from tests.studies.judging import toy

SPACE = [{"name": "C", "low": 0.01, "high": 10.0, "log": True}]
DIAL = {"setting": "C", "values": [0.01, 1.0]}
RECIPE: dict[str, Any] = {
    "title": "Toy",
    "seed": 0,
    "trials": 2,
    "split": "sixty-twenty-twenty",
    "inner_seeds": [0],
    "final_seeds": [0, 1],
    "curve_seeds": [1],
    "search_draws": 1,
    "final_draws": 1,
    "datasets": [{"name": toy.TINY}],
    "methods": [{"name": "plain", "entry": "logistic", "space": SPACE, "dial": DIAL}],
}
KINDS = {"search": search.COLUMNS, "opened": opening.COLUMNS}
BOUND = {"dataset": toy.TINY, "method": "plain", "figure": "auroc", "at_least": 0.1}


def here(cells: Sequence[Any], run: Any, *_: Any, **__: Any) -> Iterator[tuple[Any, None]]:
    """In place of processes, which would not know the dataset."""
    for cell in cells:
        yield Outcome(cell, run(cell)), None


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """The flags of each command, on the toy study."""
    toy.register(monkeypatch, toy.table())
    for module in (search, opening):
        monkeypatch.setattr(module, "finished", here)
    monkeypatch.setattr(opening, "source_commit", lambda: "abcdef0")
    recipe, bounds = tmp_path / "recipe.yaml", tmp_path / "bounds.yaml"
    recipe.write_text(yaml.safe_dump(RECIPE), encoding="utf-8")
    bounds.write_text(yaml.safe_dump({"bounds": [BOUND]}), encoding="utf-8")
    found, opened = str(tmp_path / "out" / "search.csv"), str(tmp_path / "out" / "opened.csv")
    common = ["--recipe", str(recipe)]
    more = ["--rows", opened, "--bounds", str(bounds), *common]
    yield {
        "search": ["--rows", found, "--device", "cpu", *common],
        "open": ["--search", found, "--device", "cpu", *more],
        "tables": more,
    }
    search._held.clear()
    opening._held.clear()


def said(capsys: pytest.CaptureFixture[str]) -> str:
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith("fairgear: ")
    return line


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["search", "--datasets", "nobody"], "dataset to judge: got 'nobody'"),
        (["search", "--methods", "nobody"], "method to judge: got 'nobody'"),
        (["search", "--minutes", "0"], "--minutes: got 0"),
        (["search", "--jobs", "-1"], "--jobs: got -1"),
        (["search", "--backend", "steam"], "--backend"),
        (["search", "--add", "none.csv"], "rows none.csv: got no such file"),
        (["open"], "search.csv: got no such file"),
        (["tables"], "open the sealed people first"),
        (["search", "--recipe", "none.yaml"], "settings file none.yaml"),
    ],
)
def test_what_is_refused_is_said_in_one_line(
    words: list[str],
    expected: str,
    flags: dict[str, list[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    command, *rest = words
    given = [] if "--recipe" in rest else flags[command]
    assert main(["judge", command, *given, *rest]) == 2
    assert expected in said(capsys)


def test_a_search_without_optuna_names_the_extra(
    flags: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sampler, "find_spec", lambda name: None)
    assert main(["judge", "search", *flags["search"]]) == 2
    assert "pip install 'fairgear[tune]'" in said(capsys)


def test_changes_are_refused(
    flags: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(opening, "source_commit", lambda: "abcdef0*")
    assert main(["judge", "open", *flags["open"]]) == 2
    assert "changes that are not committed" in said(capsys)


def test_search_open_and_tables(
    flags: dict[str, list[str]], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["judge", "search", *flags["search"], "--jobs", "0"]) == 0
    assert "tiny, plain: 2 of 2 trials are missing" in capsys.readouterr().out
    assert main(["judge", "search", *flags["search"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == {}
    # A rehearsal has rows of its own, and stands in for nothing.
    assert main(["judge", "open", *flags["open"], "--rehearse"]) == 0
    assert "5 rows" in capsys.readouterr().out
    assert main(["judge", "open", *flags["open"]]) == 2
    assert "rows with the opened false" in said(capsys)
    assert main(["judge", "tables", *flags["tables"]]) == 0
    capsys.readouterr()
    assert "Not a result" in (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    (tmp_path / "out" / "opened.csv").unlink()
    assert main(["judge", "open", *flags["open"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 5
    assert main(["judge", "tables", *flags["tables"], "--json"]) == 0
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert verdict["verdict"] == "met"
    assert "opened at commit abcdef0" in (tmp_path / "out" / "results.md").read_text("utf-8")


class Stopped(KeyboardInterrupt):
    """An interruption that the test itself made."""


def test_the_whole_study_in_one_command_survives_three_interruptions(
    flags: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One between trials of the search, one in the opening, one while tables are written."""
    bounds, recipe = flags["tables"][2:4], flags["tables"][4:]
    command = ["judge", "all", *bounds, *recipe, "--device", "cpu", "--rehearse", "--out"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert main([*command, str(whole)]) == 0
    places = [(search, "score", 1), (opening, "run_opening", 3), (results, "verdict_frame", 0)]
    for module, name, calls in places:
        with monkeypatch.context() as patch:
            patch.setattr(module, name, _stopping(getattr(module, name), calls))
            assert main([*command, str(parts)]) == 130
    trials, fits = (Rows(parts / f"{kind}.csv", of) for kind, of in KINDS.items())
    assert (len(trials), len(fits)) == (2, 5), "the interruptions came where they should"
    assert main([*command, str(parts)]) == 0
    for name in ("results.md", "judged.csv", "verdicts.csv", f"tradeoff-{toy.TINY}.svg"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes(), name


def _stopping(function: Callable[..., Any], calls: int) -> Callable[..., Any]:
    """The function, interrupted after so many calls."""
    left = iter(range(calls))

    def stopping(*args: Any, **kwargs: Any) -> Any:
        if next(left, None) is None:
            raise Stopped
        return function(*args, **kwargs)

    return stopping
