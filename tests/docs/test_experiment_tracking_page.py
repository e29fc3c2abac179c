"""docs/guides/experiment-tracking.md: its code runs, and says what it prints."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, run_blocks

PAGE = ROOT / "docs" / "guides" / "experiment-tracking.md"
# Libraries of these packages warn of one another.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def blocks(folder: Path, names: dict[str, Any]) -> Iterator[list[Block]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("WANDB_SILENT", "true")
        patch.setenv("WANDB_ERROR_REPORTING", "false")
        for place in ("CACHE_DIR", "DATA_DIR", "CONFIG_DIR", "ARTIFACT_DIR"):
            patch.setenv(f"WANDB_{place}", str(folder))
        mlflow: Any = importlib.import_module("mlflow")
        before = mlflow.get_tracking_uri()
        # A session that has begun keeps its folder.
        importlib.import_module("wandb").teardown()
        yield run_blocks(PAGE, folder, names)
        mlflow.set_tracking_uri(before)


def test_every_block_prints_what_stands_below_it(
    blocks: list[Block], folder: Path, names: dict[str, Any]
) -> None:
    assert len(blocks) == 3
    for block in blocks:
        assert block.as_shown(), block.printed
    assert (folder / "mlflow.db").exists()
    assert list(folder.glob("wandb/offline-run-*/*.wandb"))
    assert names["audit"].setup.graph == names["logged"].tags["fairgear/graph"]
