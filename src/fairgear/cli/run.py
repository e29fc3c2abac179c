"""`fairgear run`: train, audit, report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import DEVICES, METHOD, NO_DATA, SOURCE, SPLIT, DataFlags, examples, given
from fairgear.cli.output import Json, print_json, print_metrics, say

run_app = App(
    name="run",
    help="Train a model, measure how alike it treats people, and write a report.",
    help_epilogue=examples(
        "fairgear run synthetic --seed 3 --out runs/three",
        "fairgear run bail --method gear-paper --quick",
        "fairgear run --set causal=quantile --set fairness-weight=5 --json",
        "fairgear run --method mypackage.models:MyMethod",
        "fairgear run people.csv --label approved --sensitive sex --similarity 0.7",
    ),
)


@run_app.default
def run(
    dataset: Annotated[str | None, SOURCE] = None,
    /,
    *,
    method: Annotated[str | None, METHOD] = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    quick: Annotated[bool | None, Parameter(negative=())] = None,
    split: Annotated[str | None, SPLIT] = None,
    seed: int | None = None,
    graph_seed: int | None = None,
    device: Annotated[str | None, DEVICES] = None,
    out: Path | None = None,
    config: Path | None = None,
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Train a model, audit it on the test people, and write a folder with a report.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your table or graph. [default: synthetic]
    method
        From `fairgear methods list`, or MODULE:CLASS. [default: gear]
    overrides
        NAME=VALUE of `fairgear methods show METHOD`, repeatable.
    quick
        Few steps, smaller audit: shows that everything works.
    split
        sixty-twenty-twenty, released or given (masks of a file).
        [default: given if there are any, else sixty-twenty-twenty]
    seed
        Split and initialisation. [default: 0]
    graph_seed
        Which synthetic graph. [default: 0]
    device
        auto, cpu or cuda. [default: auto]
    out
        Folder to write or resume. [default: runs/DATASET-METHOD-SEED]
    config
        YAML file of settings, as RUN/config.yaml; flags override.
    """
    from fairgear.runs.config import RunConfig, read_yaml
    from fairgear.runs.overrides import parse_overrides

    typed = {
        "dataset": dataset,
        "method": method,
        "settings": parse_overrides(overrides or [], "--set") or None,
        "quick": quick,
        "split": split,
        "seed": seed,
        "graph_seed": graph_seed,
        "device": device,
        "data": given(data) or None,
    }
    values = _values(read_yaml(config) if config is not None else {}, typed)
    settings = RunConfig.from_dict(values).checked()
    settings.check_names()
    chosen = "micro_batches" in settings.settings
    if "split" not in values:
        # The split is written to config.yaml, so that a resumed run has the same.
        settings = settings.with_default_split()

    from fairgear import distributed
    from fairgear.progress import log

    with distributed.process_group(settings.device):
        from fairgear.runs.execution import run as run_once
        from fairgear.runs.folder import RunFolder

        settings = settings.completed().for_processes(distributed.size(), chosen=chosen)
        name = f"{settings.short_name}-{settings.method}-{settings.seed}"
        default = Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "-", name)
        folder = RunFolder(default if out is None else out)
        # The page is there before the results are, which come last.
        done = distributed.on_rank0(lambda: folder.report.exists() and folder.metrics.exists())
        results = run_once(settings, folder)
        if done:
            log(f"{folder.path} holds this run, finished; nothing to do")
        if json:
            print_json(results.to_dict())
            return
        title = "{method} on {dataset}, {split}, seed {seed}".format_map(results.config)
        print_metrics(title, results)
        say(f"Report: {folder.report}")


def _values(file: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file with those that were typed on top."""
    from fairgear.runs.config import merged

    typed = {key: value for key, value in typed.items() if value is not None}
    if "method" in typed and file.get("method", typed["method"]) != typed["method"]:
        # The file lists all settings of its own method, which do not apply to others.
        file.pop("settings", None)
    if isinstance(file.get("data"), dict) and ("dataset" in typed or "data" in typed):
        # The hash is of the file's own data.
        file["data"].pop("sha256", None)
    return merged(file, typed)
