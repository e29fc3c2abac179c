"""Causal models, and one's own: the code of both pages runs and says what they say it does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.causal import CAUSAL_MODELS, SimilarityCausalModel

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "concepts" / "causal-models.md"
OWN = ROOT / "docs" / "development" / "your-own-causal-model.md"
EXAMPLE = ROOT / "examples" / "own_causal_model.py"


def page() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (PAGE, OWN))


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is there once all blocks of the pages have run, one after the other."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    # The example registers a model, which other tests are not to see.
    monkeypatch.setattr(CAUSAL_MODELS, "_entries", dict(CAUSAL_MODELS.items()))
    found: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", page(), flags=re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), found)
    return found


def test_the_blocks_run(names: dict[str, Any]) -> None:
    zero = names["zero"]
    assert (zero.intervention, zero.people_moved) == ("all 0", 0.5425)
    shown = f"zero.edges_added, zero.edges_removed  # {zero.edges_added}, {zero.edges_removed}"
    assert shown in page()
    assert (names["added"].shape[1], names["removed"].shape[1]) == (
        zero.edges_added,
        zero.edges_removed,
    )
    assert names["told"].notes[0].startswith("Features are moved by the difference of the groups'")
    assert isinstance(names["again"], SimilarityCausalModel)
    assert names["model"].name == "one column"
    # Its share follows; the others stay though their attribute changes.
    moved = names["effect"].people_moved / names["effect"].people_set
    assert 0.8 < moved < 1


def test_the_example_is_the_one_on_the_page_and_prints_what_the_page_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code = EXAMPLE.read_text(encoding="utf-8").split("\n", maxsplit=1)[1]
    assert f"```python\n{code}```" in page()
    monkeypatch.chdir(ROOT)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    assert "".join(f"    {line}\n" for line in printed.splitlines()) in page()


def test_the_table_is_that_of_the_rows() -> None:
    rows = pd.read_csv(ROOT / "docs" / "results" / "causal_models.csv")
    table = re.findall(r"<!-- table -->\n(.*?)<!-- /table -->", page(), flags=re.DOTALL)[0]
    lines = table.splitlines()[2:]
    assert len(lines) == len(rows) == 18
    for line, (_, row) in zip(lines, rows.iterrows(), strict=True):
        assert f"| {row.world} |" in line
        assert f"| {row.added:,} ({row.added_share * 100:.1f} %) |" in line
        assert f"| {row.removed:,} ({row.removed_share * 100:.1f} %) |" in line
