"""`fairgear datasets`: what there is and its statistics."""

from __future__ import annotations

from dataclasses import asdict

from cyclopts import App

from fairgear.cli.output import Json, print_json, print_table

datasets_app = App(
    name="datasets",
    help="What datasets there are, and their statistics.",
    help_epilogue="Examples: fairgear datasets list   ·   fairgear datasets stats synthetic --json",
    help_format="plaintext",
)


@datasets_app.command(name="list")
def list_datasets(*, json: Json = False) -> None:
    """List the datasets.

    Parameters
    ----------
    json
        Print one JSON object instead of a table.
    """
    from fairgear.datasets import DATASETS

    entries = [entry for _, entry in DATASETS.items()]
    if json:
        fields = ("name", "summary", "sensitive", "label", "source")
        print_json({"datasets": [{key: getattr(e, key) for key in fields} for e in entries]})
        return
    rows = [(e.name, e.sensitive, e.label, e.summary) for e in entries]
    print_table("Datasets", ("name", "sensitive", "label", "what it is"), rows)


@datasets_app.command(name="stats")
def stats(
    dataset: str,
    /,
    *,
    graph_seed: int = 0,
    split: str = "sixty-twenty-twenty",
    seed: int = 0,
    json: Json = False,
) -> None:
    """Count a dataset's nodes, edges, groups and classes, as Table 1 of the paper does.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`.
    graph_seed
        Which synthetic graph.
    split
        A named split: sixty-twenty-twenty or released.
    seed
        The draw of the split.
    json
        Print one JSON object instead of a table.
    """
    from fairgear.datasets import load_split, statistics

    graph = load_split(dataset, split=split, seed=seed, graph_seed=graph_seed)
    counted = asdict(statistics(graph))
    if json:
        print_json(counted)
        return
    rows = [
        (
            k.replace("_", " "),
            f"{v:,.3f}" if isinstance(v, float) else f"{v:,}" if isinstance(v, int) else v,
        )
        for k, v in counted.items()
    ]
    print_table(f"Statistics of {dataset}", ("statistic", "value"), rows)
