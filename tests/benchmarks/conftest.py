"""The egos of a small graph."""

from __future__ import annotations

import pytest

from benchmarks.bench.graphs import Scene, make_graph
from benchmarks.bench.plan import Plan
from benchmarks.bench.steps import Pool


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene(make_graph("scale-free", 600, degree=8, features=9), Plan())


@pytest.fixture(scope="module")
def pool(scene: Scene) -> Pool:
    return Pool.of(scene)
