"""What the pages leave behind when they are run; a test module names its page as `PAGE`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import Block, run_blocks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's commands run."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What its code has defined."""
    return {}


@pytest.fixture(scope="module")
def blocks(request: pytest.FixtureRequest, folder: Path, names: dict[str, Any]) -> list[Block]:
    """Its blocks of code, run from top to bottom."""
    return run_blocks(request.module.PAGE, folder, names)
