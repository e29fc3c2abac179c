from __future__ import annotations

import pytest

from fairgear.methods.gear.training import GearTask
from tests.methods.untrained import untrained


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[GearTask]:
    """The tasks of the fits to come."""
    return untrained(monkeypatch, GearTask)
