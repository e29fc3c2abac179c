"""docs/guides/which-causal-model.md: its code prints what stands below it, its diagram is one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairgear.causal import FEATURE_MODELS, Diagram
from tests.docs.pages import ROOT, Block, run_blocks

PAGE = ROOT / "docs" / "guides" / "which-causal-model.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    return {}


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory, names: dict[str, Any]) -> list[Block]:
    return run_blocks(PAGE, tmp_path_factory.mktemp("which"), names)


def test_it_prints_what_stands_below_it(blocks: list[Block], names: dict[str, Any]) -> None:
    assert len(blocks) == 2
    for block in blocks:
        assert block.as_shown(), block.printed
    text = PAGE.read_text(encoding="utf-8")
    for row in names["family"].rows:
        if not row.part:
            assert f"| {row.model} |" in text
    assert all(f"| {name} |" in text for name in FEATURE_MODELS)


def test_its_diagram_is_that_of_its_code(tmp_path: Path, names: dict[str, Any]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    parents, resolving = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    path = tmp_path / "diagram.yaml"
    path.write_text(parents + resolving)
    read = Diagram.read(path)
    assert read.resolving == ("job",)
    assert {name: list(of) for name, of in read.parents.items() if of} == {
        "job": ["sex"],
        "income": ["sex", "job", "age"],
        "debt": ["income"],
    }
