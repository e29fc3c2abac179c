"""One run of a reproduction, in the process of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce.revisions import revision
from fairgear.progress import quiet
from fairgear.runs import WorldsCache, run
from fairgear.runs.folder import RunFolder


def folder_of(cell: Cell, study: Path) -> RunFolder:
    """Where the results of a cell go; another revision's are elsewhere."""
    return RunFolder(study / "runs" / f"{cell.name}.r{revision(cell.entry)}")


def make_run(cell: Cell, folder: Path, worlds: WorldsCache, *, keep: bool) -> dict[str, Any]:
    """The results of a cell, made now unless its folder has them.

    Args:
        cell: what to run.
        folder: of the study.
        worlds: shared with other runs of this process.
        keep: whether the model, the predictions and a page stay too.
    """
    place = folder_of(cell, folder)
    results = place.measured()
    if keep and not place.model.exists():
        # An earlier run kept its results alone.
        results = None
    if results is None and place.config.exists() and not place.is_of(cell.config):
        # Begun on another device, say: nothing in it is worth keeping.
        shutil.rmtree(place.path, ignore_errors=True)
    elif not place.is_of(cell.config, on_any_device=results is not None):
        # Somebody else's, or of settings that the name of the run does not show: refused.
        place.claim(cell.config)
    if results is None:
        with quiet():
            results = run(cell.config, place, worlds)
    if keep and not place.report.exists():
        place.write(results)
    elif not keep:
        place.keep_results_alone()
    return results.to_dict()
