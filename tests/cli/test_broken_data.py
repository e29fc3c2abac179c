"""Broken data of one's own: one line, exit status 2, nothing left behind."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.cli import main
from tests.graph.people import FRIENDS, PEOPLE, pyg_data

LABEL, SENSITIVE = ["--label", "approved"], ["--sensitive", "sex"]
SIMILAR = ["--similarity", "0.7"]
RIGHT = [*LABEL, *SENSITIVE, *SIMILAR]
CSV = "people.csv"
PARTS = ("train", "val", "test")


def changed(**columns: Any) -> Callable[[], None]:
    """people.csv with other columns."""
    return lambda: pd.read_csv(PEOPLE).assign(**columns).to_csv(CSV, index=False)


def content(text: str | bytes, name: str = CSV) -> Callable[[], None]:
    def write() -> None:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)

    return write


def edges(extra: str) -> Callable[[], None]:
    def write() -> None:
        Path("friends.csv").write_text(FRIENDS.read_text() + extra)

    return write


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, ("evil",))


def nothing() -> None:
    pass


def pyg(**attributes: Any) -> Callable[[], None]:
    def write() -> None:
        data = pyg_data()
        for name, value in attributes.items():
            data[name] = value
        torch.save(data, "people.pt")

    return write


PT = ["people.pt", "--label", "y", "--sensitive", "sex"]
LISTED = [CSV, *LABEL, *SENSITIVE, "--edges", "friends.csv"]
# What is done to the folder, what is typed, what the line must say.
CASES: dict[str, tuple[Callable[[], None], list[str], str]] = {
    "wrong label": (nothing, [CSV, "--label", "aproved", *SENSITIVE, *SIMILAR], "mean 'approved'"),
    "wrong group": (nothing, [CSV, *LABEL, "--sensitive", "gender", *SIMILAR], "allowed: 'id'"),
    "wrong id": (nothing, [CSV, *RIGHT, "--id", "i d"], "mean 'id'"),
    "wrong drop": (nothing, [CSV, *RIGHT, "--drop", "age", "jobs"], "mean 'job'"),
    "repeated ids": (changed(id=["P1"] * 400), [CSV, *RIGHT], "399 repeated ids, the first 'P1'"),
    "edge to nobody": (edges("P0001,P9999\n"), LISTED, "1 of 1155 with an end that is nobody's"),
    "ragged edges": (edges("P0001\n"), LISTED, "1 cells in line"),
    "no edge file": (nothing, [CSV, *LABEL, *SENSITIVE, "--edges", "no.csv"], "file no.csv"),
    "edges of a kind": (nothing, [CSV, *LABEL, *SENSITIVE, "--edges", "a.yaml"], "file a.yaml"),
    "one group": (changed(sex="f"), [CSV, *RIGHT], "sensitive column 'sex': got 1 values"),
    "many groups": (changed(sex=[f"g{i % 61}" for i in range(400)]), [CSV, *RIGHT], "61 values"),
    "a number and groups": (
        nothing,
        [CSV, *LABEL, "--sensitive", "sex,age", *SIMILAR],
        "'sex,age', of which 'age' is a number; allowed: several columns of groups. Next: audit",
    ),
    "many codes": (
        nothing,
        [CSV, *LABEL, "--sensitive", "income", *SIMILAR, "--sensitive-kind", "income=categorical"],
        "allowed: up to 60 groups, or a number",
    ),
    "no such kind": (nothing, [CSV, *RIGHT, "--sensitive-kind", "sex=number"], "COLUMN=KIND, wh"),
    "kind of nothing": (nothing, [CSV, *RIGHT, "--sensitive-kind", "binary"], "COLUMN=KIND, where"),
    "kind of a slip": (nothing, [CSV, *RIGHT, "--sensitive-kind", "sec=binary"], "mean 'sex'"),
    "kind of another": (nothing, [CSV, *RIGHT, "--sensitive-kind", "job=binary"], "not the sensi"),
    "words as a number": (nothing, [CSV, *RIGHT, "--sensitive-kind", "sex=continuous"], "got text"),
    "few groups known": (
        changed(sex=["f", "m", *[""] * 398]),
        [CSV, *RIGHT],
        "sensitive column 'sex': got 2 of 400 people with a value; allowed: 30 or more",
    ),
    "unknown what": (nothing, [CSV, *RIGHT, "--unknown", "guess"], "keep, drop"),
    "one label": (changed(approved="no"), [CSV, *RIGHT], "label column 'approved': got 1 values"),
    "many labels": (changed(approved=[f"a{i}" for i in range(400)]), [CSV, *RIGHT], "400 values"),
    "text as numbers": (nothing, [CSV, *RIGHT, "--task", "regression"], "text, such as"),
    "no such task": (nothing, [CSV, *RIGHT, "--task", "ranking"], "classification, regression"),
    "no positive": (nothing, [CSV, *RIGHT, "--positive", "y"], "'no', 'yes'"),
    "no such group": (nothing, [CSV, *RIGHT, "--sensitive-one", "x"], "'female', 'male'"),
    "missing values": (changed(age=[1, None] * 200), [CSV, *RIGHT], "--missing impute"),
    "missing what": (nothing, [CSV, *RIGHT, "--missing", "fill"], "refuse, impute, drop"),
    "none is missing": (
        changed(approved=["None", "Default"] * 200),
        [CSV, *RIGHT],
        "and 200 missing (in text files NA, NULL, None",
    ),
    "one group left": (
        lambda: changed(age=pd.read_csv(PEOPLE).age.where(pd.read_csv(PEOPLE).sex == "male"))(),
        [CSV, *RIGHT, "--missing", "drop"],
        "'male' alone once the others are dropped",
    ),
    "given to a dataset": (nothing, ["synthetic", "--split", "given"], "sixty-twenty-twenty"),
    "infinite": (changed(age=["inf", 1] * 200), [CSV, *RIGHT], "200 values that are infinite"),
    "free text": (changed(note=[f"n{i}" for i in range(400)]), [CSV, *RIGHT], "--drop note"),
    "empty": (content(""), [CSV, *RIGHT], "an empty file"),
    "header only": (content("id,age,sex,approved\n"), [CSV, *RIGHT], "a header and no rows"),
    "repeated columns": (content("age,age,sex\n1,1,f\n"), [CSV, *RIGHT], "'age' 2 times"),
    "ragged": (content("age,sex\n1,f\n2\n"), [CSV, *RIGHT], "1 cells in line 3"),
    "binary": (content(b"\x89PNG\r\n\0\0"), [CSV, *RIGHT], "a binary file"),
    "wrong encoding": (
        content("sex\nma\xf1ana\n".encode("latin-1")),
        [CSV, *RIGHT],
        "0xf1 at posi",
    ),
    "missing file": (nothing, ["nobody.csv", *RIGHT], "no such file"),
    "a folder": (lambda: Path("x.csv").mkdir(), ["x.csv", *RIGHT], "a regular file"),
    "unknown ending": (content("x", "x.xlsx"), ["x.xlsx", *RIGHT], "ends in .xlsx"),
    "both": (nothing, [*LISTED, *SIMILAR], "both edges and a similarity"),
    "neither": (nothing, [CSV, *LABEL, *SENSITIVE], "neither edges nor a similarity"),
    "threshold": (nothing, [CSV, *LABEL, *SENSITIVE, "--similarity", "7"], "setting similarity"),
    "no label": (nothing, [CSV, *SENSITIVE, *SIMILAR], "--label: got none for people.csv"),
    "no group": (nothing, [CSV, *LABEL, *SIMILAR], "--sensitive: got none for people.csv"),
    "graph seed": (nothing, [CSV, *RIGHT, "--graph-seed", "2"], "--graph-seed: got 2"),
    "options of one's own": (
        nothing,
        ["synthetic", *LABEL],
        "--label: got the dataset 'synthetic'",
    ),
    "no default name": (nothing, ["--drop", "age"], "--drop: got the dataset 'synthetic'"),
    "a typo": (nothing, ["synthetics"], "mean 'synthetic'"),
    "split": (nothing, [CSV, *RIGHT, "--split", "half"], "sixty-twenty-twenty, released"),
    "one role": (nothing, [CSV, *RIGHT, "--drop", "sex"], "two roles"),
    "evil pickle": (lambda: torch.save(Evil(), "people.pt"), PT, "no PyG Data"),
    "evil inside": (pyg(more=Evil()), PT, "no PyG Data"),
    "plain pickle": (content(pickle.dumps(Evil()), "people.pt"), PT, "no PyG Data"),
    "pyg and similarity": (pyg(), [*PT, *SIMILAR], "both edges and a similarity"),
    "pyg labels": (
        pyg(y=torch.arange(400)),
        [*PT, "--task", "classification"],
        "400 values",
    ),
    "no graphml": (content("<a/>", "p.graphml"), ["p.graphml", *LABEL, *SENSITIVE], "in GraphML"),
    "no parquet": (content("<a/>", "p.parquet"), ["p.parquet", *RIGHT], "no table in Parquet"),
}


def listing() -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


@pytest.mark.parametrize("case", CASES)
def test_one_line_status_2_and_nothing_left(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (PEOPLE, FRIENDS):
        Path(path.name).write_bytes(path.read_bytes())
    break_it, typed, said = CASES[case]
    break_it()
    before = listing()
    assert main(["run", *typed]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fairgear: ")
    assert captured.err.count("\n") == 1, captured.err
    assert said in captured.err
    assert "Next:" in captured.err
    assert listing() == before


def test_too_few_of_a_class_leave_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    changed(approved=["yes", *["no"] * 399])()
    for split in ("sixty-twenty-twenty", "released"):
        assert main(["run", CSV, *RIGHT, "--split", split]) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith("fairgear: ")
        assert "'yes'" in line
        assert "fairgear.graph" not in line
        assert "training may use" not in line
    assert [path.name for path in Path().iterdir()] == [CSV]


def test_masks_that_are_of_no_use_leave_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one_each = {f"{part}_mask": torch.arange(400) == n for n, part in enumerate(PARTS)}
    unlabelled = torch.where(torch.arange(400) == 2, -1, pyg_data().y)
    for attributes, typed, said in (
        ({}, ["--split", "given"], "no labelled people in train_mask"),
        (one_each, [], "or correct the masks"),
        (one_each | {"y": unlabelled}, [], "no labelled people in test_mask"),
    ):
        pyg(**attributes)()
        assert main(["run", *PT, *typed]) == 2
        line = capsys.readouterr().err.splitlines()[-1]
        assert line.startswith("fairgear: ")
        assert said in line
    assert [path.name for path in Path().iterdir()] == ["people.pt"]


def test_nothing_is_broken_to_begin_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the break, the same commands come as far as training."""
    monkeypatch.chdir(tmp_path)
    for path in (PEOPLE, FRIENDS):
        Path(path.name).write_bytes(path.read_bytes())
    pyg()()
    seen: list[str] = []

    def stop(self: object, graph: SensitiveGraph, **_: object) -> None:
        seen.append(graph.name)
        raise SystemExit

    monkeypatch.setattr("fairgear.methods.Gear.fit", stop)
    for typed in ([CSV, *RIGHT], LISTED, PT):
        with pytest.raises(SystemExit):
            main(["run", *typed, "--out", f"out{len(seen)}"])
    assert seen == ["people"] * 3
