from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairgear.auditing.threads import one_thread


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Graphs are small here: on a busy machine threads only wait for each other."""
    with one_thread():
        yield
