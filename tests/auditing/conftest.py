"""One thread for all audits, and the small graph that most of them are made on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, audit
from fairgear.auditing.adapters.base import one_thread
from tests.auditing.models import Everything, small_graph


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Graphs are small here: on a busy machine threads only wait for each other."""
    with one_thread():
        yield


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph()


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    """With the paper's evaluation too, so that there is everything to look at."""
    return Worlds(graph, protocol="released")


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return audit(Everything(), worlds)
