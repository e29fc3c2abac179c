"""docs/development/your-own-method.md: its code runs, and its table is that of the contract."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fairgear.methods import METHODS
from fairgear.testing import CONTRACT
from tests.docs.pages import ROOT, Block, alike, prose_numbers, run_blocks

PAGE = ROOT / "docs" / "development" / "your-own-method.md"
EXAMPLE = ROOT / "examples" / "own_method.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own_method")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return {}


@pytest.fixture(scope="module")
def blocks(folder: Path, names: dict[str, Any]) -> Iterator[list[Block]]:
    # The example registers a method, which other tests are not to see.
    with patch.dict(METHODS._entries), patch.object(sys, "path", [str(folder), *sys.path]):
        yield run_blocks(PAGE, folder, names)
        for module in ("test_own_method", "examples.own_method"):
            sys.modules.pop(module, None)


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert [block.kind for block in blocks].count("console") == 1
    assert sum(bool(block.shown) for block in blocks) == 3
    for block in blocks:
        assert alike(block.shown, block.printed), block.printed


def test_the_example_is_the_one_on_the_page(blocks: list[Block], folder: Path) -> None:
    code = EXAMPLE.read_text(encoding="utf-8")
    assert (folder / "own_method.py").read_text(encoding="utf-8") == f"# own_method.py\n{code}"


def test_the_table_is_that_of_the_contract(names: dict[str, Any], blocks: list[Block]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- promises -->\n(.*?)<!-- /promises -->", page, flags=re.DOTALL)
    assert re.findall(r"^\| `(.+?)` \|", table, flags=re.MULTILINE) == list(CONTRACT)
    assert names["kept"] == tuple(CONTRACT)


def test_only_the_method_that_asks_neighbours_depends_on_them(blocks: list[Block]) -> None:
    (printed,) = [block.printed for block in blocks if block.printed.startswith("one hop")]
    one, none = [float(line.split()[-1]) for line in printed.splitlines()]
    assert one > 0.05
    assert none == 0
    assert prose_numbers(PAGE) == {"0.9"}


def test_the_command_line_took_it(blocks: list[Block], folder: Path) -> None:
    results = json.loads((folder / "audited" / "audit.json").read_text(encoding="utf-8"))
    assert results["model"]["name"] == "examples.own_method:own"


def test_the_test_on_the_page_passes(blocks: list[Block]) -> None:
    keeps = importlib.import_module("test_own_method").test_it_keeps
    (mark,) = keeps.pytestmark
    assert list(mark.args[1]) == list(CONTRACT)
    for check in mark.args[1]:
        keeps(check)
