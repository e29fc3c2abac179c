"""What it costs to compare a model and a stored graph with their hashes when they are loaded.

    python -m benchmarks.loading 1000000

Random people with names, 32 features and ten edges each, and the model `graphsage` after one step
on a thousand others. Seconds of the processor, the least of several turns, of loading them as it is
and without anything that compares; the two alternate within one process. The graph is one that this
machine has opened before, see `fairgear.graph.stored.verification`.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from fairgear import tensor_files
from fairgear.graph import SensitiveGraph, open_stored, split, undirected_edges
from fairgear.graph.stored import write_stored
from fairgear.methods import METHODS, load_model

FEATURES, NEIGHBOURS, TRAINED, TURNS = 32, 10, 1_000, 20


def people(count: int) -> SensitiveGraph:
    """A random graph whose people have names."""
    made = torch.Generator().manual_seed(0)
    x = torch.randn(count, FEATURES, generator=made)
    pairs = torch.randint(0, count, (2, count * NEIGHBOURS // 2), generator=made)
    graph = SensitiveGraph(
        x,
        undirected_edges(pairs, count),
        (x[:, 0] > 0).long(),
        torch.randint(0, 2, (count,), generator=made),
        node_names=tuple(f"person-{i:07}" for i in range(count)),
    )
    return split(graph, "sixty-twenty-twenty", seed=0)


def compared(load: Callable[[], Any], without: Callable[[], AbstractContextManager[Any]]) -> str:
    """Seconds of the processor with and without what is compared, and their ratio."""
    found: dict[str, list[float]] = {"with": [], "without": []}
    for turn in range(TURNS):
        # Neither comes first each time.
        for how in sorted(found, reverse=bool(turn % 2)):
            gc.collect()
            # Each process compares what it loads once.
            tensor_files._good.clear()
            with ExitStack() as stack:
                if how == "without":
                    stack.enter_context(without())
                begin = time.process_time()
                load()
                found[how].append(time.process_time() - begin)
    least = {how: min(seconds) for how, seconds in found.items()}
    ratio = least["with"] / least["without"]
    return f"{least['with']:.4f} s, without {least['without']:.4f} s: {ratio:.3f} times"


def unchecked_model() -> AbstractContextManager[Any]:
    """Loading a model as if its files had no hashes."""
    stack = ExitStack()
    read = tensor_files.read_tensors

    def bare(path: Path) -> Any:
        tensors, facts = read(path)
        return tensors, {key: value for key, value in facts.items() if key != "model_sha256"}

    stack.enter_context(patch.object(tensor_files, "_digest", lambda *_: _Anything()))
    stack.enter_context(patch("fairgear.methods.saved._sha256", lambda _: ""))
    stack.enter_context(patch("fairgear.methods.saved.read_tensors", bare))
    return stack


class _Anything:
    """Equal to every hash."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def unchecked_graph() -> AbstractContextManager[Any]:
    """Opening a graph as if nothing were known of its files."""
    stack = ExitStack()
    stack.enter_context(patch("fairgear.graph.stored.folder._stamp", lambda *_: ""))
    stack.enter_context(patch("fairgear.graph.stored.folder.is_verified", lambda *_: True))
    stack.enter_context(
        patch("fairgear.graph.stored.folder._fingerprint", lambda meta: meta["fingerprint"])
    )
    return stack


def main() -> None:
    """Make both, and compare."""
    graph = people(int(sys.argv[1]))
    small = people(TRAINED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_stored(graph, folder / "graph")
        METHODS["graphsage"](steps=1, dim=256, device="cpu").fit(small).save(folder / "model")
        print("stored graph:", compared(lambda: open_stored(folder / "graph"), unchecked_graph))
        model = compared(lambda: load_model(folder / "model", device="cpu"), unchecked_model)
        print("saved model:", model)


if __name__ == "__main__":
    main()
