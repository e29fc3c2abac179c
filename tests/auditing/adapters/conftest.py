from __future__ import annotations

import pytest

from fairgear import SensitiveGraph
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from tests.auditing.models import small_graph


@pytest.fixture(scope="package")
def graph() -> SensitiveGraph:
    return small_graph(60)


@pytest.fixture(scope="package")
def worlds(graph: SensitiveGraph) -> Worlds:
    """With the paper's evaluation too."""
    return Worlds(graph, draws=1, protocol="released")


@pytest.fixture(scope="package")
def other(worlds: Worlds) -> World:
    """A counterfactual world."""
    return worlds.strict[0.0][0]
