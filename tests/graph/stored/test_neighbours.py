from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.graph.stored.neighbours import sorted_runs


@given(
    pieces=st.lists(st.lists(st.integers(0, 999), max_size=40), max_size=6),
    expected=st.integers(0, 300),
    capacity=st.integers(1, 50),
)
def test_runs_are_the_sorted_set_and_never_longer_than_memory(
    pieces: list[list[int]],
    expected: int,
    capacity: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    arrays = (np.array(piece, np.int64) for piece in pieces)
    runs = list(sorted_runs(arrays, folder, 1000, expected=expected, capacity=capacity))
    found = [key for run in runs for key in run.tolist()]
    assert found == sorted({key for piece in pieces for key in piece})
    assert all(0 < len(run) <= capacity for run in runs)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_one_number_a_thousand_times_needs_no_memory_for_it(tmp_path: Path) -> None:
    pieces = (np.array([7, 7, 7], np.int64) for _ in range(300))
    runs = list(sorted_runs(pieces, tmp_path, 10**12, expected=1, capacity=2))
    assert [run.tolist() for run in runs] == [[7]]
