"""`fairgear run`: train, audit, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import flags_of, given
from fairgear.cli.output import Json, print_json, print_metrics
from fairgear.cli.own_data import NO_DATA, DataFlags
from fairgear.methods import GearConfig

run_app = App(
    name="run",
    help="Train a model, measure how alike it treats people, and write a report.",
    help_epilogue=(
        "Examples: fairgear run   ·   fairgear run synthetic --seed 3 --out runs/three   ·   "
        "fairgear run --preset paper   ·   fairgear run --gear.fairness-weight 2 --json   ·   "
        "fairgear run people.csv --label approved --sensitive sex --similarity 0.7"
    ),
    help_format="plaintext",
)

GearFlags: Any = flags_of(GearConfig)
_NO_FLAGS = GearFlags()


@run_app.default
def run(
    dataset: str | None = None,
    /,
    *,
    method: str | None = None,
    preset: str | None = None,
    split: str | None = None,
    seed: int | None = None,
    graph_seed: int | None = None,
    device: str | None = None,
    out: Path | None = None,
    config: Path | None = None,
    json: Json = False,
    data: DataFlags = NO_DATA,
    assignments: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    gear: GearFlags = _NO_FLAGS,
) -> None:
    """Train, evaluate on the test people, and leave a folder with a report.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your own file. [default: synthetic]
        A table (.csv, .tsv, .parquet) needs --edges or --similarity; a graph is a .pt (PyG) or
        .graphml.
    method
        The method to train, a name from `fairgear methods list`. [default: gear]
    preset
        Settings to start from: default, or paper. [default: default]
    split
        sixty-twenty-twenty or released; or given, the masks of a .pt file.
        [default: given where the file has all three masks, else sixty-twenty-twenty]
    seed
        Split and initialisation. [default: 0]
    graph_seed
        Which synthetic graph. [default: 0]
    device
        auto, cpu or cuda. [default: auto]
    out
        The folder to write; a run with the same settings is resumed.
        [default: runs/DATASET-METHOD-SEED, a file's name without its ending]
    assignments
        NAME=VALUE, a setting of a method other than gear; may be given several times.
    config
        A YAML file of settings, such as the config.yaml of a run; flags go before it.
    json
        Print the results as one JSON object and nothing else on stdout.
    """
    from fairgear.runs.config import (
        RunConfig,
        merged,
        read_yaml,
        with_micro_batches,
    )
    from fairgear.runs.overrides import assigned

    typed = {
        "dataset": dataset,
        "method": method,
        "preset": preset,
        "split": split,
        "seed": seed,
        "graph_seed": graph_seed,
        "device": device,
        "data": given(data) or None,
        "gear": given(gear) or None,
        "settings": assigned(assignments or [], "--set") or None,
    }
    values = read_yaml(config) if config is not None else {}
    if preset is not None and values.get("preset", preset) != preset:
        # The file spells out the settings of its own preset; another would have nothing to say.
        values.pop("gear", None)
    if isinstance(values.get("data"), dict) and (dataset is not None or given(data)):
        # The note is of the file's own data; whoever names data means these.
        values["data"].pop("sha256", None)
    values = merged(values, {key: value for key, value in typed.items() if value is not None})
    settings = RunConfig.from_dict(values).checked()
    if "split" not in values:
        # It is noted in config.yaml, so that a resumed run has the same split.
        settings = settings.with_default_split()
    chosen = "micro_batches" in (values.get("gear") or {})
    name = f"{settings.short_name}-{settings.method}-{settings.seed}"

    from fairgear import distributed

    with distributed.process_group(settings.device):
        settings = with_micro_batches(settings, distributed.size(), chosen=chosen)
        _run(settings, out if out is not None else Path("runs") / name, json=json)


def _run(settings: Any, out: Path, *, json: bool) -> None:
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
