"""`fairgear run`: train, audit, report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import NO_DATA, DataFlags, examples, given
from fairgear.cli.output import Json, print_json, print_metrics

if TYPE_CHECKING:
    from fairgear.runs import RunConfig

run_app = App(
    name="run",
    help="Train a model, measure how alike it treats people, and write a report.",
    help_epilogue=examples(
        "fairgear run",
        "fairgear run synthetic --seed 3 --out runs/three",
        "fairgear run bail --preset paper --quick",
        "fairgear run --set fairness-weight=2 --set generator.steps=500 --json",
        "fairgear run --method mypackage.models:MyMethod",
        "fairgear run people.csv --label approved --sensitive sex --similarity 0.7",
    ),
    help_format="plaintext",
)


@run_app.default
def run(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    preset: str | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    quick: Annotated[bool | None, Parameter(negative=())] = None,
    split: str | None = None,
    seed: int | None = None,
    graph_seed: int | None = None,
    device: str | None = None,
    out: Path | None = None,
    config: Path | None = None,
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Train a model, audit it on the test people, and write a folder with a report.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your own file. [default: synthetic]
        A table (.csv, .tsv, .parquet) needs --edges or --similarity; a graph is a .pt (PyG) or
        .graphml.
    method
        A name from `fairgear methods list`, or MODULE:CLASS of your own. [default: gear]
    preset
        Settings of gear to start from: default, or paper. [default: default]
    overrides
        NAME=VALUE, a setting of the method (see `fairgear methods show METHOD`). May be repeated.
    quick
        Few training steps and a smaller audit: shows in a minute that everything works.
    split
        sixty-twenty-twenty or released; or given, the masks of a .pt file.
        [default: given if the file has all three masks, else sixty-twenty-twenty]
    seed
        Split and initialisation. [default: 0]
    graph_seed
        Which synthetic graph. [default: 0]
    device
        auto, cpu or cuda. [default: auto]
    out
        The folder to write; a run with the same settings is resumed.
        [default: runs/DATASET-METHOD-SEED]
    config
        A YAML file of settings, such as the config.yaml of a run; flags take precedence.
    json
        Print the results as one JSON object and nothing else on stdout.
    """
    from fairgear.runs.config import RunConfig, read_yaml
    from fairgear.runs.overrides import parse_overrides

    typed = {
        "dataset": dataset,
        "method": method,
        "preset": preset,
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
    chosen = "micro_batches" in settings.settings
    if "split" not in values:
        # The split is written to config.yaml, so that a resumed run has the same.
        settings = settings.with_default_split()

    from fairgear import distributed

    with distributed.process_group(settings.device):
        settings = settings.completed().for_processes(distributed.size(), chosen=chosen)
        name = f"{settings.short_name}-{settings.method}-{settings.seed}"
        default = Path("runs") / re.sub(r"[^A-Za-z0-9._-]+", "-", name)
        _run(settings, default if out is None else out, json=json)


def _values(file: dict[str, Any], typed: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file with those that were typed on top."""
    from fairgear.runs.config import merged

    typed = {key: value for key, value in typed.items() if value is not None}
    if any(
        key in typed and file.get(key, typed[key]) != typed[key] for key in ("method", "preset")
    ):
        # The file lists all settings of its own method and preset, which do not apply to others.
        file.pop("settings", None)
    if isinstance(file.get("data"), dict) and ("dataset" in typed or "data" in typed):
        # The hash is of the file's own data.
        file["data"].pop("sha256", None)
    return merged(file, typed)


def _run(settings: RunConfig, out: Path, *, json: bool) -> None:
    """What every process does."""
    from fairgear.distributed import on_rank0
    from fairgear.progress import log
    from fairgear.runs import RunFolder, run

    folder = RunFolder(out)
    done = on_rank0(folder.report.exists)
    results = run(settings, folder)
    if done:
        log(f"{folder.path} holds this run, finished; nothing to do")
    if json:
        print_json(results.to_dict())
        return
    print_metrics("{method} on {dataset}, {split}, seed {seed}".format_map(results.config), results)
    print(f"Report: {folder.report}")  # noqa: T201
