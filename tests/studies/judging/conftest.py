from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairgear.studies.judging import opening, search
from tests.studies.judging import toy


@pytest.fixture(autouse=True)
def _fresh_worlds() -> Iterator[None]:
    """No test sees the worlds of another: their graphs have the same name."""
    yield
    search._held.clear()
    opening._held.clear()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny table as a dataset."""
    toy.register(monkeypatch, toy.table())
