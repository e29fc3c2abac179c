"""What a CUDA card does: a training step, several seeds at once, precisions, recorded steps.

    python benchmarks/gpu.py --out docs/results/gpu.json
    python benchmarks/gpu.py --page

The second writes the block `gpu` of docs/performance.md from the first's results, on any machine.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from fairgear.datasets import load_split
from fairgear.experiments.provenance import source_commit
from fairgear.files import write_text
from fairgear.graph import SensitiveGraph
from fairgear.methods import Gear
from fairgear.methods import gear as gear_module
from fairgear.methods.gear_stacks import GearStack, VaeStack
from fairgear.methods.gear_training import GearTask
from fairgear.training import seeded

DOCS = Path(__file__).parent.parent / "docs"
PAGE, RESULTS = DOCS / "performance.md", DOCS / "results" / "gpu.json"


def milliseconds(step: Callable[[int], object], steps: int = 100) -> float:
    """The median over rounds, each timed from end to end."""
    for number in range(10):
        step(number)
    rounds = []
    for _ in range(3):
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
            entry["plain_ms"] = milliseconds(seeded_step, 30)
            found[f"step_{name}_{precision}"] = entry
            print(name, precision, entry, flush=True)
            if precision == precisions[0] and dim == 1024:

                def vae_step(number: int, task: Any = generator) -> None:
                    with seeded(0, "benchmark", number):
                        task.step(number)

                found["vae_step"] = {"recorded_ms": milliseconds(vae_step)}
                generator._update = None
                found["vae_step"]["plain_ms"] = milliseconds(vae_step, 30)
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


@contextmanager
def reports_timed() -> Iterator[list[float]]:
    """Seconds that reports on generators take: scikit-learn on the CPU, the same either way."""
    seconds: list[float] = []
    work = gear_module.report_generator

    def timed(*arguments: Any, **named: Any) -> Any:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        found = work(*arguments, **named)
        seconds.append(time.perf_counter() - begin)
        return found

    gear_module.report_generator = timed
    try:
        yield seconds
    finally:
        gear_module.report_generator = work


def whole_fits(found: dict[str, Any], precisions: list[str]) -> None:
    """Ten seeds one by one and together, from end to end, with what they reach."""
    graphs = [load_split("synthetic", split="released", seed=s, graph_seed=0) for s in range(10)]
    Gear(seed=0, device="cuda", steps=20).fit(graphs[0])
    for precision in precisions:
        entry: dict[str, Any] = {}
        if precision == "float32":
            with reports_timed() as reports:
                begin = time.perf_counter()
                models = [Gear(seed=s, device="cuda").fit(g) for s, g in enumerate(graphs)]
                entry |= {"one_by_one_s": time.perf_counter() - begin}
                entry |= {"one_by_one_reports_s": sum(reports)}
            entry["one_by_one_auroc"] = aurocs(models, graphs)
        with reports_timed() as reports:
            begin = time.perf_counter()
            models = Gear.fit_seeds(graphs, range(10), device="cuda", precision=precision)
            entry |= {"together_s": time.perf_counter() - begin}
            entry |= {"together_reports_s": sum(reports)}
        entry["together_auroc"] = aurocs(models, graphs)
        found[f"fits_{precision}"] = entry
        print("fits", precision, entry, flush=True)


def aurocs(models: list[Gear], graphs: list[SensitiveGraph]) -> list[float]:
    """On the test people."""
    found = []
    for model, graph in zip(models, graphs, strict=True):
        scores = model.predict_proba(graph, nodes=graph.test_mask)[:, 1]
        found.append(float(roc_auc_score(graph.y[graph.test_mask], scores)))
    return found


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


def page(found: dict[str, Any]) -> str:
    """The block of docs/performance.md."""
    lines = [
        f"{found['device']}, torch {found['torch']}, commit {found['commit']}.",
        "",
        "| step | precision | recorded | plain | ten seeds at once | ten over one |",
        "|---|---|---|---|---|---|",
    ]
    for width in (1024, 64):
        for precision in ("float32", "tf32", "bf16"):
            step = found[f"step_width_{width}_{precision}"]
            ten = found[f"together_width_{width}_{precision}"]
            lines.append(
                f"| width {width:,}, batch 100, C = 2 | {precision} | "
                f"{step['recorded_ms']:.2f} ms | {step['plain_ms']:.1f} ms | "
                f"{ten['stack_of_10_ms']:.2f} ms | {ten['ten_over_one']:.2f} × |"
            )
    vae = found["vae_step"]
    ten_ms = found["vae_stack_of_10_ms"]
    lines.append(
        f"| generator, batch 200 | float32 | "
        f"{vae['recorded_ms']:.2f} ms | {vae['plain_ms']:.1f} ms | "
        f"{ten_ms:.2f} ms | {ten_ms / vae['recorded_ms']:.2f} × |"
    )
    worst = found["recorded_against_plain_largest_difference"]
    lines += ["", f"Largest difference of a recorded step's losses to a plain one's: {worst:g}."]
    lines += [
        "",
        "Ten fits of the default preset on the synthetic graph, split `released`, seeds 0 to 9:",
        "",
        "| seeds | precision | seconds | of these reports on the generators | test AUROC |",
        "|---|---|---|---|---|",
    ]
    for precision in ("float32", "tf32", "bf16"):
        fits = found[f"fits_{precision}"]
        for way in ("one_by_one", "together"):
            if f"{way}_s" in fits:
                auroc = fits[f"{way}_auroc"]
                lines.append(
                    f"| {way.replace('_', ' ')} | {precision} | {fits[f'{way}_s']:.0f} | "
                    f"{fits[f'{way}_reports_s']:.0f} | "
                    f"{np.mean(auroc):.4f} ± {np.std(auroc, ddof=1):.4f} |"
                )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--fits", nargs="*", default=["float32", "tf32", "bf16"])
    parser.add_argument("--precisions", nargs="+", default=["float32", "tf32", "bf16"])
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--commit", default="")
    arguments = parser.parse_args()
    if arguments.page:
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition("<!-- gpu -->\n")
        _, _, tail = rest.partition("<!-- /gpu -->")
        block = page(json.loads(RESULTS.read_text(encoding="utf-8")))
        write_text(PAGE, f"{head}<!-- gpu -->\n{block}\n<!-- /gpu -->{tail}")
        return
    found: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "commit": arguments.commit or source_commit(),
    }
    graph = load_split("synthetic", split="released", seed=0, graph_seed=0)
    same_losses(graph, found)
    for work in (one_step, together):
        work(graph, found, arguments.precisions)
        if arguments.out:
            arguments.out.write_text(json.dumps(found, indent=1))
    whole_fits(found, arguments.fits)
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
