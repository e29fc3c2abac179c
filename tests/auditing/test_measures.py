from __future__ import annotations

import warnings

import pytest

from fairgear.auditing.measures import collecting, sentence
from fairgear.errors import UndefinedMetricWarning


def test_undefined_measures_become_notes_once() -> None:
    notes: list[str] = []
    with collecting(notes):
        for _ in range(2):
            warnings.warn("an interval is undefined: why", UndefinedMetricWarning, stacklevel=1)
    assert notes == ["An interval is undefined: why."]


def test_other_warnings_stay_warnings() -> None:
    notes: list[str] = []
    with pytest.warns(UserWarning, match="something else"), collecting(notes):
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert notes == []


def test_symbols_stay_as_they_are() -> None:
    assert sentence("δCF is undefined") == "δCF is undefined."
