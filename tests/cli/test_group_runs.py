"""Runs and audits on two groups out of any column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from fairgear.cli import main
from tests.graph.people import PEOPLE, people


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes(PEOPLE.read_bytes())


def quick(*typed: str) -> int:
    return main(["run", *typed, "--method", "logistic", "--quick", "--out", "out"])


def older(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame.age >= 40]


def of_jobs(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame.job != "clerk"]


@pytest.mark.parametrize(
    ("typed", "some", "names"),
    [
        (["--sensitive", "age<40"], older, ("age>=40", "age<40")),
        (["--sensitive", "job", "--against", "clerk"], of_jobs, ("clerk", "not clerk")),
    ],
)
def test_a_run_and_its_audits_code_groups_alike(
    typed: list[str],
    some: Callable[[pd.DataFrame], pd.DataFrame],
    names: tuple[str, str],
) -> None:
    assert quick("people.csv", "--label", "approved", *typed, "--similarity", "0.7") == 0
    predicted = pd.read_parquet("out/predictions.parquet")
    assert set(predicted.sens_name) == set(names)
    assert set(predicted[predicted.sens == 1].sens_name) == {names[1]}
    # Others, who are all of one group: only the settings and the encoding can tell which.
    some(people()).to_csv("others.csv", index=False)
    audit = ["audit", "out", "others.csv", "--nodes", "all", "--draws", "1", "--self-people", "5"]
    assert main([*audit, "--no-other-causal-models", "--out", "audit"]) == 0
    audited = pd.read_parquet("audit/people.parquet")
    assert len(audited) == len(some(people()))
    assert set(audited.sens) == ({0} if names[1] == "age<40" else {1})
