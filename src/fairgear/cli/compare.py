"""`fairgear compare`: methods side by side, on the same graphs, splits and counterfactuals."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from fairgear.cli.flags import Names
from fairgear.cli.output import Json, print_json

compare_app = App(
    name="compare",
    help="Train and measure several methods on several datasets with several seeds.",
    help_epilogue=(
        "Examples: fairgear compare --methods gear graphsage logistic   ·   fairgear compare "
        "--datasets synthetic bail credit --methods all --seeds 3   ·   fairgear compare "
        "--methods gear gear:erase=0 gear:variant=np"
    ),
    help_format="plaintext",
)


@compare_app.default
def compare(
    *,
    datasets: Names = None,
    methods: Names = None,
    seeds: int = 3,
    split: str = "released",
    out: Path = Path("comparison"),
    json: Json = False,
) -> None:
    """Write a table of every method on every dataset: mean ± standard deviation, and ranks.

    Parameters
    ----------
    datasets
        Names from `fairgear datasets list`. [default: synthetic]
    methods
        Names from `fairgear methods list`, or all. With settings: gear:erase=0,dim=128.
        [default: all]
    seeds
        How many: 0, 1, 2 and so on, each with a split of its own.
    split
        sixty-twenty-twenty or released.
    out
        The folder to write: runs.csv, summary.csv, table.md, table.tex and the runs; with the
        split released and methods of the paper also published.md, which sets them beside its
        Table 2. The same command on an interrupted comparison goes on where it stopped.
    json
        Print the summary as one JSON object and nothing else on stdout.
    """
    from fairgear.experiments.compare import ALL, Plan, execute_comparison
    from fairgear.experiments.compare_table import summary

    plan = Plan.of(datasets or ["synthetic"], methods or [ALL], seeds, split)
    found = summary(execute_comparison(plan, out))
    if json:
        print_json({"out": str(out), "summary": found.to_dict("records")})
        return
    print((out / "table.md").read_text(encoding="utf-8"))  # noqa: T201
    print(f"Tables: {out}/table.md, {out}/table.tex, {out}/summary.csv")  # noqa: T201
