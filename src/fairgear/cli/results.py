"""`fairgear report` and `fairgear embed`: what can be made from a finished run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App

from fairgear.cli.flags import NO_DATA, SOURCE, DataFlags, Device, Flag, examples, given
from fairgear.cli.output import Format, Json, print_json, say

report_app = App(
    name="report",
    help="Write the web page of a run or an audit again.",
    help_epilogue=examples("fairgear report runs/synthetic --out page.html"),
)
embed_app = App(
    name="embed",
    help="Write the representations of a graph's people by a saved model.",
    help_epilogue=examples(
        "fairgear embed runs/synthetic/model synthetic --out people.parquet",
    ),
)


@report_app.default
def report(
    run: Path, /, *, out: Path | None = None, format: Format = "page", json: Json = False
) -> None:
    """Write the page of a finished run or audit, or its tables.

    Parameters
    ----------
    run
        The folder of a run or of an audit.
    out
        The page to write, or the tables as Markdown, with a .csv beside it.
        [default: report.html or ll144.md in that folder]
    """
    from fairgear.auditing import Audit
    from fairgear.auditing.sums import renew_sums
    from fairgear.report import ll144_markdown, write_ll144, write_page

    if format == "ll144":
        audit, path = Audit.load(run), run / "ll144.md" if out is None else out
        write_ll144(audit, path)
        if out is None:
            renew_sums(run, path.name, path.with_suffix(".csv").name)
        if json:
            print_json({"ll144": str(path)})
        else:
            say(ll144_markdown(audit))
        return
    page = run / "report.html" if out is None else out
    write_page(Audit.load(run), page)
    if out is None:
        renew_sums(run, page.name)
    if json:
        print_json({"report": str(page)})
    else:
        say(f"Report: {page}")


@embed_app.default
def embed(
    model: Path,
    dataset: Annotated[str, SOURCE] = "synthetic",
    /,
    *,
    out: Path,
    graph_seed: int = 0,
    method: str | None = None,
    device: Device = "auto",
    scores: Flag = False,
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Write one row for each person: node_id, node_name where ids are text, the representation.

    Rows are written as they are computed, so that memory does not grow with the file.

    Parameters
    ----------
    model
        A saved model, such as RUN/model.
    dataset
        A name from `fairgear datasets list`, or a file of your own or a stored graph as for
        `fairgear run`; it needs no --label. Columns are coded as the model's training data.
    out
        A file ending in .parquet (node_id, z0, z1, …) or .npy (the matrix alone).
    graph_seed
        Which synthetic graph.
    method
        MODULE:CLASS of the model's own method, where it is not registered.
    scores
        With .parquet, add a column score, the probability of label 1.
    """
    from fairgear.datasets.source import GraphSource
    from fairgear.errors import ParameterError

    if out.suffix not in (".parquet", ".npy"):
        raise ParameterError("--out", str(out), ".parquet or .npy", "change the ending")
    if scores and out.suffix == ".npy":
        raise ParameterError(
            "--scores",
            f"with {out}, which has the representations alone",
            "with a file ending in .parquet",
            "leave it out, or change the ending of --out",
        )
    named = {"dataset": dataset, "data": given(data), "graph_seed": graph_seed}
    source = GraphSource.from_dict(named).checked(labelled=False)

    from fairgear.distributed import process_group, rank

    with process_group(device):
        from fairgear.methods import load_model
        from fairgear.runs.predictions import write_matrix, write_table

        graph = source.load(split=False, model=model)
        fitted = load_model(model, device=device, method=method)
        if out.suffix == ".npy":
            rows, width = write_matrix(fitted, graph, out)
        else:
            rows, width = write_table(fitted, graph, out, scores=scores)
        if rank() > 0:
            return
        if json:
            print_json({"out": str(out), "rows": rows, "columns": width})
        else:
            say(f"Wrote {rows:,} × {width} to {out}")
