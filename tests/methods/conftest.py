from __future__ import annotations

import pytest

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.methods import Gear
from tests.graphs import random_graph
from tests.methods.gear.tiny import tiny


@pytest.fixture(scope="session")
def graph() -> SensitiveGraph:
    """Sparse, with many people alone."""
    return fg.datasets.load("synthetic", n=200, seed=1)


@pytest.fixture(scope="session")
def dense() -> SensitiveGraph:
    """Hardly anybody is alone; the sensitive attribute is in column 1."""
    return random_graph(n=150, edges=400, seed=2, d=6)


@pytest.fixture(scope="session")
def fitted(dense: SensitiveGraph) -> Gear:
    """A model fitted on `dense`; tests must leave it as it is."""
    return tiny(threshold="validation").fit(dense)
