"""The egos of a small graph."""

from __future__ import annotations

import pytest

from fairgear.bench.config import Bench
from fairgear.bench.graphs import make_graph
from fairgear.bench.scene import Pool, Scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene(make_graph("scale-free", 600, degree=8, features=9), Bench())


@pytest.fixture(scope="module")
def pool(scene: Scene) -> Pool:
    return scene.pool
