"""No method makes an array of people by people, neither when it learns nor when it predicts."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fairgear import SensitiveGraph
from fairgear.methods import METHODS
from tests.graphs import random_graph
from tests.methods.test_contract import SETTINGS

PEOPLE = 4000
# What a square of bytes would take: torch has no smaller numbers.
SQUARE = PEOPLE**2


class Largest(TorchDispatchMode):
    """Notes the largest tensor, in bytes, that any operation gives."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch gives it no type
        self.size = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
                # A view of a row is as large as what was made for it, not as what it looks like.
                self.size = max(self.size, leaf.untyped_storage().nbytes())
        return found


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return random_graph(n=PEOPLE, edges=2 * PEOPLE, seed=0, d=6)


@pytest.mark.parametrize("name", METHODS)
def test_no_array_of_people_by_people(name: str, graph: SensitiveGraph) -> None:
    settings = {**SETTINGS.get(name, {}), "steps": 3} if name in SETTINGS else {}
    settings = settings if name != "boosting" else {"trees": 3}
    model = METHODS[name](**settings, device="cpu")
    # Compiling takes memory of its own, once.
    model.fit(random_graph(n=100, edges=200, seed=0, d=6))
    tracemalloc.start()
    try:
        with Largest() as largest:
            model.fit(graph)
            model.predict_proba(graph)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 < largest.size < SQUARE
    # NumPy's arrays, which torch knows nothing of, all together.
    assert peak < SQUARE


def test_a_square_would_be_noticed() -> None:
    with Largest() as largest:
        x = torch.randn(PEOPLE, 2)
        _ = (x @ x.T > 0).any(dim=1)
    assert largest.size >= SQUARE
    tracemalloc.start()
    _ = np.ones((PEOPLE, PEOPLE), dtype=bool)
    assert tracemalloc.get_traced_memory()[1] >= SQUARE
    tracemalloc.stop()
