"""Tables with four classes, and with incomes, from the shell to a report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairgear.cli import main

N = 240


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """people.csv with `level`, four classes, and `income`; ties.csv."""
    rng = np.random.default_rng(0)
    sex, edu = rng.integers(0, 2, N), rng.integers(1, 5, N)
    hours = rng.normal(35, 8, N) + 4 * sex
    income = 800 * hours + 4000 * edu + rng.normal(0, 3000, N)
    level = np.digitize((income - income.mean()) / income.std(), [-0.7, 0, 0.7])
    people = {
        "id": np.arange(N),
        "sex": np.where(sex, "male", "female"),
        "hours": hours.round(1),
        "edu": edu,
        "level": np.array(["low", "middle", "high", "top"])[level],
        "income": income.round(),
    }
    path = tmp_path_factory.mktemp("targets")
    pd.DataFrame(people).to_csv(path / "people.csv", index=False)
    first = rng.integers(0, N, 600)
    ties = pd.DataFrame({"a": first, "b": (first + rng.integers(1, 10, 600)) % N})
    ties.to_csv(path / "ties.csv", index=False)
    return path


def typed(folder: Path, label: str, out: str, *more: str) -> list[str]:
    table, ties = str(folder / "people.csv"), str(folder / "ties.csv")
    drop = "income" if label == "level" else "level"
    return [
        *("run", table, "--label", label, "--sensitive", "sex", "--edges", ties, "--drop", drop),
        *("--quick", "--device", "cpu", "--out", str(folder / out), *more),
    ]


@pytest.mark.parametrize("method", ["gear", "graphsage", "boosting"])
@pytest.mark.parametrize(
    ("label", "read_as", "wanted"),
    [
        ("level", "4 classes, 'high', 'low', 'middle', 'top'", "macro_f1"),
        ("income", "numbers, from", "rmse"),
    ],
)
def test_a_run_with_a_report(
    folder: Path,
    label: str,
    read_as: str,
    wanted: str,
    method: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = f"{label}-{method}"
    assert main(typed(folder, label, out, "--method", method)) == 0
    said = capsys.readouterr().err
    assert f"{label}: {read_as}" in said
    found = json.loads((folder / out / "audit.json").read_text())
    assert found["target"]["kind"] == ("regression" if label == "income" else "multiclass")
    assert {wanted, "delta_cf", "delta_cf_size", "r2"} <= set(found["metrics"])
    assert "How large that is" in (folder / out / "report.html").read_text()
    people = pd.read_parquet(folder / out / "predictions.parquet")
    assert len(people) == N
    if label == "level":
        assert set(people["label_name"]) <= {"high", "low", "middle", "top"}
        shares = people[[f"probability_{k}" for k in range(4)]]
        assert shares.sum(axis=1).to_numpy() == pytest.approx(1)
    else:
        assert people["label"].to_numpy() == pytest.approx(people["score"].to_numpy())
        assert people["score"].corr(people["y"]) > 0.5


@pytest.mark.parametrize("label", ["level", "income"])
def test_the_saved_model_is_audited_on_a_part_of_the_table(
    folder: Path, label: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some classes are missing there, and numbers are few: it is read as the training table."""
    assert main(typed(folder, label, f"{label}-saved", "--method", "logistic")) == 0
    people = pd.read_csv(folder / "people.csv")
    part = people[people["level"].isin(["low", "top"])].head(60)
    part = part.assign(income=part["income"].round(-5))
    part.to_csv(folder / "part.csv", index=False)
    drop = "income" if label == "level" else "level"
    command = [
        *("audit", str(folder / f"{label}-saved"), str(folder / "part.csv"), "--label", label),
        *("--sensitive", "sex", "--similarity", "0.7", "--nodes", "all", "--drop", drop),
        *("--self-people", "3", "--what-if-people", "2"),
    ]
    assert main([*command, "--out", str(folder / f"{label}-part")]) == 0
    found = json.loads((folder / f"{label}-part" / "audit.json").read_text())
    classes = ["high", "low", "middle", "top"] if label == "level" else []
    assert found["target"]["classes"] == classes
    fails = ["--no-other-causal-models", "--fail-if", "delta_cf_size>=0"]
    assert main([*command, *fails, "--out", str(folder / "failed")]) == 3


def test_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more, said in (
        (("--positive", "low"), "--positive for the label column 'level'"),
        (("--task", "regression"), "text, such as"),
    ):
        assert main(typed(folder, "level", "refused", *more)) == 2
        lines = capsys.readouterr().err.splitlines()
        assert said in lines[-1]
        assert not (folder / "refused").exists()
    table, ties = str(folder / "people.csv"), str(folder / "ties.csv")
    columns = ["--label", "income", "--sensitive", "sex", "--edges", ties]
    out = ["--out", str(folder / "refused")]
    assert main(["compare", "--datasets", table, "--methods", "logistic", *columns, *out]) == 2
    assert "labels of a comparison: got numbers" in capsys.readouterr().err
