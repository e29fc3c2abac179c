"""What a CUDA card does: a training step, several seeds at once, precisions, recorded steps.

python benchmarks/gpu.py --out docs/results/gpu.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from fairgear.datasets import load_split
from fairgear.graph import SensitiveGraph
from fairgear.methods import Gear
from fairgear.methods.gear_stacks import GearStack, VaeStack
from fairgear.methods.gear_training import GearTask
from fairgear.training import seeded


def milliseconds(step: Callable[[int], object], steps: int = 200) -> float:
    """The median over rounds, each timed from end to end."""
    for number in range(10):
        step(number)
    rounds = []
    for _ in range(5):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for number in range(steps):
            step(number)
        torch.cuda.synchronize()
        rounds.append(1000 * (time.perf_counter() - begin) / steps)
    return float(np.median(rounds))


def prepared(graph: SensitiveGraph, seed: int, **settings: Any) -> tuple[GearTask, Any]:
    """A Gear's two tasks, as its fit makes them."""
    model = Gear.paper(seed=seed, device="cuda", **settings)
    data = model._begin(graph)
    generator = model._generator_task(data)
    regime = model._regimes(graph)[0]
    return model._network_task(data, regime, None), generator


def one_step(graph: SensitiveGraph, found: dict[str, Any], precisions: list[str]) -> None:
    for precision in precisions:
        for name, dim in (("width_1024", 1024), ("width_64", 64)):
            task, generator = prepared(graph, 0, precision=precision, dim=dim)

            def seeded_step(number: int, task: Any = task) -> None:
                with seeded(0, "benchmark", number):
                    task.step(number)

            torch.cuda.reset_peak_memory_stats()
            entry = {"recorded_ms": milliseconds(seeded_step)}
            entry["peak_mb"] = torch.cuda.max_memory_allocated() / 2**20
            task._update = None
            entry["plain_ms"] = milliseconds(seeded_step, 50)
            found[f"step_{name}_{precision}"] = entry
            print(name, precision, entry, flush=True)
            if precision == precisions[0] and dim == 1024:

                def vae_step(number: int, task: Any = generator) -> None:
                    with seeded(0, "benchmark", number):
                        task.step(number)

                found["vae_step"] = {"recorded_ms": milliseconds(vae_step)}
                generator._update = None
                found["vae_step"]["plain_ms"] = milliseconds(vae_step, 50)
                print("vae", found["vae_step"], flush=True)


def together(graph: SensitiveGraph, found: dict[str, Any], precisions: list[str]) -> None:
    for precision in precisions:
        for dim in (1024, 64):
            entry: dict[str, float] = {}
            for count in (1, 10):
                tasks, generators = zip(
                    *(prepared(graph, s, precision=precision, dim=dim) for s in range(count)),
                    strict=True,
                )
                stack = GearStack(tasks)

                def step(number: int, stack: Any = stack) -> None:
                    with seeded(0, "benchmark", number):
                        stack.step(number)

                entry[f"stack_of_{count}_ms"] = milliseconds(step, 100)
                if dim == 1024 and precision == precisions[0]:
                    vaes = VaeStack(generators)

                    def vae_step(number: int, stack: Any = vaes) -> None:
                        with seeded(0, "benchmark", number):
                            stack.step(number)

                    found[f"vae_stack_of_{count}_ms"] = milliseconds(vae_step, 100)
            single = found[f"step_width_{dim}_{precision}"]["recorded_ms"]
            entry["ten_over_one"] = entry["stack_of_10_ms"] / single
            found[f"together_width_{dim}_{precision}"] = entry
            print("together", dim, precision, entry, flush=True)


def whole_fits(found: dict[str, Any], presets: tuple[str, ...]) -> None:
    """Ten seeds one by one and together, from end to end, with what they reach."""
    graphs = [load_split("synthetic", split="released", seed=s, graph_seed=0) for s in range(10)]
    for preset in presets:
        settings: dict[str, Any] = {}
        if preset == "paper":
            paper = Gear.paper().config
            settings = {name: getattr(paper, name) for name in paper.to_dict()}
        Gear(seed=0, device="cuda", **{**settings, "steps": 20}).fit(graphs[0])
        begin = time.perf_counter()
        singles = [Gear(seed=s, device="cuda", **settings).fit(g) for s, g in enumerate(graphs)]
        one_by_one = time.perf_counter() - begin
        begin = time.perf_counter()
        stacked = Gear.fit_seeds(graphs, range(10), device="cuda", **settings)
        at_once = time.perf_counter() - begin
        entry: dict[str, Any] = {"one_by_one_s": one_by_one, "together_s": at_once}
        for name, models in (("one_by_one", singles), ("together", stacked)):
            entry[f"{name}_auroc"] = [
                float(
                    roc_auc_score(
                        graph.y[graph.test_mask],
                        model.predict_proba(graph, nodes=graph.test_mask)[:, 1],
                    )
                )
                for model, graph in zip(models, graphs, strict=True)
            ]
        found[f"fits_{preset}"] = entry
        print("fits", preset, entry, flush=True)


def same_losses(graph: SensitiveGraph, found: dict[str, Any]) -> None:
    """A recorded step against a plain one, with the same random numbers."""
    losses = []
    for recorded in (True, False):
        task, _ = prepared(graph, 0, dim=64)
        if not recorded:
            task._update = None
        rows = []
        for number in range(50):
            with seeded(0, "benchmark", number):
                terms = task.step(number)
            rows.append([float(value) for value in terms.values()])
        losses.append(np.array(rows))
    worst = float(np.abs(losses[0] - losses[1]).max())
    found["recorded_against_plain_largest_difference"] = worst
    print("recorded against plain", worst, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--fits", nargs="*", default=["default"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "tf32", "bf16"])
    arguments = parser.parse_args()
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    graph = load_split("synthetic", split="released", seed=0, graph_seed=0)
    same_losses(graph, found)
    for work in (one_step, together):
        work(graph, found, arguments.precisions)
        if arguments.out:
            arguments.out.write_text(json.dumps(found, indent=1))
    whole_fits(found, tuple(arguments.fits))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
