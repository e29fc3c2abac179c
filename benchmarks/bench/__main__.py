"""Time the parts of fairgear beside other ways to the same result, with the memory of each.

    make bench ARGS="--quick"
    make bench ARGS="--only pagerank egos --sizes 10000 100000"

The folder --out gets results.csv and performance.md. What it holds already is not measured again.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.bench.plan import CASES, KINDS, Plan


def parsed(arguments: list[str] | None = None) -> tuple[Plan, Path]:
    """The plan and the folder that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="1,000 and 10,000 people, few repeats: minutes")
    add("--only", nargs="+", choices=CASES, metavar="CASE", help=f"some of: {', '.join(CASES)}")
    add("--kinds", nargs="+", choices=KINDS, help="kinds of graphs")
    add("--sizes", nargs="+", type=int, help="people per graph")
    add("--threads", type=int, default=os.cpu_count() or 1)
    add("--device", choices=("cpu", "cuda"))
    add("--seed", type=int)
    add("--repeats", type=int)
    add("--steps", type=int, help="training steps of the pipeline")
    add("--out", type=Path, default=Path("runs/bench"))
    typed = vars(parser.parse_args(arguments))
    folder, quick, only = typed.pop("out"), typed.pop("quick"), typed.pop("only")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in {**typed, "cases": only}.items()
        if value is not None
    }
    plan = Plan().quick() if quick else Plan()
    return replace(plan, **given), folder


def main() -> None:
    """Measure what is missing and write the tables."""
    plan, folder = parsed()
    # Read when torch and numba are loaded.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(plan.threads)
    # Threads that spin while they wait slow down everything else on the machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

    from benchmarks.bench.runner import run
    from benchmarks.bench.tables import blocks
    from fairgear.files import write_text

    rows = run(plan, folder)
    page = "\n".join(f"## {name}\n\n{text}" for name, text in blocks(rows).items())
    write_text(folder / "performance.md", page)
    print(page)
    print(f"Rows: {folder}/results.csv   Tables: {folder}/performance.md")


if __name__ == "__main__":
    main()
