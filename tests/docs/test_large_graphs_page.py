"""docs/guides/large-graphs.md: its commands and code run, and its tables are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fairgear.cli.app import main
from fairgear.graph.stored.files import EDGE_ENDINGS
from tests.docs.pages import ROOT, Block, alike

PAGE = ROOT / "docs" / "guides" / "large-graphs.md"


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert [block.kind for block in blocks].count("console") == 4
    for block in blocks:
        assert alike(block.shown, block.printed), block.printed


def test_the_files_are_those_of_the_page(blocks: list[Block], folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("## In the folder")[1].split("## In Python")[0]
    assert {path.name for path in (folder / "graph").iterdir()} == set(
        re.findall(r"`([\w.]+\.(?:npy|json))`", table)
    )
    arrays = json.loads((folder / "graph" / "meta.json").read_text())["arrays"]
    assert {f"{name}.npy" for name in arrays} == {
        path.name for path in (folder / "graph").glob("*.npy")
    }


def test_representations_of_the_same_people_are_the_same(blocks: list[Block], folder: Path) -> None:
    table = pd.read_parquet(folder / "people-z.parquet")
    assert list(table.columns[:3]) == ["node_id", "score", "z0"]
    assert np.array_equal(table.iloc[:, 2:].to_numpy(), np.load(folder / "people-z.npy"))
    predicted = pd.read_parquet(folder / "run" / "predictions.parquet")
    assert table.score.equals(predicted.score)
    # The others of the page are the same people again.
    others = pd.read_parquet(folder / "others-z.parquet")
    assert others.equals(table.drop(columns="score"))


def test_the_options_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "--help"]) == 0
    shown = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", capsys.readouterr().out))
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("## What can be stored")[1].split("Columns become features")[0]
    told = set(re.findall(r"`(--[a-z-]+)`", table))
    assert told == shown - {"--json"}
    for ending in EDGE_ENDINGS:
        assert f"`{ending}`" in table
