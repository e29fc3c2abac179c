"""`fairgear bench`: what the parts of fairgear cost here, beside other ways to the same result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import Names
from fairgear.cli.output import Json, print_json, print_table

bench_app = App(
    name="bench",
    help="Measure time and memory on this machine, beside other ways to the same result.",
    help_epilogue=(
        "Examples: fairgear bench --quick   ·   fairgear bench --only pagerank egos --sizes 10000 "
        "100000   ·   fairgear bench --device cuda --only step --out runs/gpu"
    ),
    help_format="plaintext",
)

Numbers = Annotated[list[int] | None, Parameter(consume_multiple=True, negative=())]


@bench_app.default
def bench(
    *,
    quick: Annotated[bool, Parameter(negative=())] = False,
    only: Names = None,
    sizes: Numbers = None,
    kinds: Names = None,
    threads: int | None = None,
    device: str | None = None,
    seed: int | None = None,
    repeats: int | None = None,
    steps: int | None = None,
    out: Path = Path("runs/bench"),
    json: Json = False,
) -> None:
    """Time every part against other ways to do the same, with the memory of each.

    Parameters
    ----------
    quick
        Graphs of 1,000 and 10,000 people of one kind, few repeats: a few minutes.
    only
        Some of: pagerank, egos, "step", "default step", "vae step", embedding, audit, pipeline.
        [default: all]
    sizes
        People of the graphs, rising. [default: 10000 100000 1000000]
    kinds
        scale-free, similarity, random. [default: all]
    threads
        Of torch and of compiled code. [default: one a core]
    device
        cpu, or cuda for the steps, the embedding and the pipeline. [default: cpu]
    seed
        Of graphs, samples and weights. [default: 0]
    repeats
        Rounds in which the sides of a benchmark take turns. [default: 5]
    steps
        Training steps of the pipeline, of its generator and its network each. [default: 1000]
    out
        The folder for results.csv, results.json, performance.svg and performance.md. What it
        holds already is not measured again.
    json
        Print the rows as one JSON object and nothing else on stdout.
    """
    import os

    from fairgear.bench.config import Bench
    from fairgear.bench.report import write_report
    from fairgear.bench.runner import execute

    typed: dict[str, Any] = {
        "cases": None if only is None else tuple(only),
        "kinds": None if kinds is None else tuple(kinds),
        "sizes": None if sizes is None else tuple(sizes),
        "threads": (os.cpu_count() or 1) if threads is None else threads,
        "device": device,
        "seed": seed,
        "repeats": repeats,
        "steps": steps,
    }
    given = {name: value for name, value in typed.items() if value is not None}
    plan = Bench.quick(**given) if quick else Bench(**given)
    store = execute(plan, out)
    write_report(store.rows, out)
    if json:
        print_json({"out": str(out), "settings": store.settings, "rows": store.rows})
        return
    _print(store.rows)
    print(f"With remarks: {out}/performance.md   Plot: {out}/performance.svg")  # noqa: T201


def _print(rows: list[dict[str, Any]]) -> None:
    from fairgear.bench import table
    from fairgear.bench.store import MACHINE

    print_table("What the machine can do", table.LIMITS, table.limit_table(rows))
    for case in dict.fromkeys(str(row["case"]) for row in rows):
        if case == "pipeline":
            print_table("Pipeline", table.STAGES, table.stage_table(rows))
        elif case != MACHINE:
            # Remarks are long; the file has them.
            cells = [row[:-1] for row in table.case_table(rows, case)]
            print_table(case.capitalize(), table.HEADS[:-1], cells)
