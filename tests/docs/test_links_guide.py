"""docs/guides/links.md: its code and commands run, and leave what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fairgear.links import LinkAudit
from tests.docs.pages import ROOT, Block

PAGE = ROOT / "docs" / "guides" / "links.md"


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert [block.kind for block in blocks].count("console") == 5
    for block in blocks:
        assert block.as_shown(), block.printed


def test_the_folder_has_what_the_table_lists(blocks: list[Block], folder: Path) -> None:
    table = re.findall(r"^\| (`.*?`) \| [^|]* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name.rstrip("/") for row in table for name in re.findall(r"`([^`]+)`", row)}
    assert {path.name for path in (folder / "links").iterdir()} == named


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("links", "fairgear method"),
        ("later", "fairgear method"),
        ("alike", "Python callable"),
        ("command", "command"),
        ("scores", "file of scores"),
    ],
)
def test_every_command_audits_what_the_page_says(
    blocks: list[Block], folder: Path, name: str, kind: str
) -> None:
    assert LinkAudit.load(folder / name).model.kind == kind


def test_scores_of_a_file_tell_links_as_well_as_their_model(
    blocks: list[Block], folder: Path
) -> None:
    one, other = (LinkAudit.load(folder / name) for name in ("links", "scores"))
    for key in ("auroc", "average_precision"):
        assert other.metrics[key] == pytest.approx(one.metrics[key])


def test_shares_are_those_of_the_page(blocks: list[Block], folder: Path) -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    settings = yaml.safe_load((folder / "links" / "config.yaml").read_text())
    told = re.search(
        r"(\d+) % are put in question to train on, (\d+) % .*? and (\d+) % to audit", page
    )
    assert told is not None
    assert [int(one) / 100 for one in told.groups()] == [
        settings[name] for name in ("train", "val", "test")
    ]
    links = len(pd.read_csv(folder / "examples" / "friends.csv"))
    audited = pd.read_csv(folder / "links" / "pairs.csv")
    assert audited["linked"].sum() == round(0.15 * links)
