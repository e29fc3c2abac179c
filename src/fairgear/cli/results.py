"""`fairgear report` and `fairgear embed`: what can be made from a finished run."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from fairgear.cli.flags import given
from fairgear.cli.output import Json, print_json
from fairgear.cli.own_data import NO_DATA, DataFlags

report_app = App(
    name="report",
    help="Write the web page of a run or an audit again.",
    help_epilogue="Example: fairgear report runs/synthetic --out page.html",
    help_format="plaintext",
)
embed_app = App(
    name="embed",
    help="Write the representations of a graph's people by a saved model.",
    help_epilogue="Example: fairgear embed runs/synthetic/model synthetic --out people.parquet",
    help_format="plaintext",
)


@report_app.default
def report(run: Path, /, *, out: Path | None = None, json: Json = False) -> None:
    """Write the page of a finished run or audit.

    Parameters
    ----------
    run
        The folder of a run or of an audit.
    out
        The page to write. [default: RUN/report.html, of an audit AUDIT/audit.html]
    json
        Print one JSON object instead of a sentence.
    """
    from fairgear.auditing import AuditFolder
    from fairgear.experiments.run_folder import RunFolder, read_results
    from fairgear.report import write_audit, write_page

    audit, folder = AuditFolder(run), RunFolder(run)
    if audit.json.exists():
        page = audit.page if out is None else out
        write_audit(audit.facts(), page)
    else:
        page = folder.report if out is None else out
        write_page(read_results(folder.metrics), page)
    if json:
        print_json({"report": str(page)})
    else:
        print(f"Report: {page}")  # noqa: T201


@embed_app.default
def embed(
    model: Path,
    dataset: str = "synthetic",
    /,
    *,
    out: Path,
    graph_seed: int = 0,
    device: str = "auto",
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Write one row a person: node_id, node_name where ids are text, and the representation.

    Parameters
    ----------
    model
        A saved model, such as RUN/model.
    dataset
        A name from `fairgear datasets list`, or a file of your own as for `fairgear run`; it
        needs no --label. Its columns are read as those were that the model was trained on.
    out
        A file ending in .parquet (node_id, z0, z1, …) or .npy (the matrix alone).
    graph_seed
        Which synthetic graph.
    device
        auto, cpu or cuda.
    json
        Print one JSON object instead of a sentence.
    """
    import numpy as np
    import pandas as pd

    from fairgear.auditing import who
    from fairgear.datasets import load_graph
    from fairgear.errors import ParameterError
    from fairgear.experiments.data_config import DataConfig
    from fairgear.experiments.own_data import checked_data, is_path, read_own
    from fairgear.files import replacing
    from fairgear.methods import load_model

    if out.suffix not in (".parquet", ".npy"):
        raise ParameterError(
            "--out", got=str(out), allowed=".parquet or .npy", next_step="change the ending"
        )
    own = checked_data(
        dataset, DataConfig.from_dict(given(data)), graph_seed=graph_seed, labelled=False
    )
    if is_path(dataset):
        graph = read_own(dataset, own, model)
    else:
        graph = load_graph(dataset, graph_seed=graph_seed)
    z = load_model(model, device=device).embed(graph)
    with replacing(out) as temporary:
        if out.suffix == ".npy":
            with temporary.open("wb") as file:
                np.save(file, z)
        else:
            frame = pd.DataFrame(z, columns=[f"z{i}" for i in range(z.shape[1])])
            pd.concat([who(graph), frame], axis=1).to_parquet(temporary, index=False)
    if json:
        print_json({"out": str(out), "rows": z.shape[0], "columns": z.shape[1]})
    else:
        print(f"Wrote {len(z):,} × {z.shape[1]} to {out}")  # noqa: T201
