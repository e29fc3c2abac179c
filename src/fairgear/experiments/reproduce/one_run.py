"""One run of a reproduction, in the process of a worker."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from fairgear.experiments.cell import Cell
from fairgear.experiments.last_worlds import LastWorlds
from fairgear.experiments.reproduce.revisions import revision
from fairgear.experiments.run import execute
from fairgear.experiments.run_folder import RunFolder
from fairgear.progress import quiet


def folder_of(cell: Cell, study: Path) -> RunFolder:
    """Where the results of a cell go; another revision's are elsewhere."""
    return RunFolder(study / "runs" / f"{cell.name}.r{revision(cell.entry)}")


def make_run(cell: Cell, folder: Path, worlds: LastWorlds, *, keep: bool) -> dict[str, Any]:
    """The results of a cell, made now unless its folder has them.

    Args:
        cell: what to run.
        folder: of the study.
        worlds: shared with other runs of this process.
        keep: whether the model, the predictions and a page stay too.
    """
    run = folder_of(cell, folder)
    results = run.measured()
    if keep and not run.model.exists():
        # An earlier run kept its results alone.
        results = None
    if results is None and run.config.exists() and not run.is_of(cell.config):
        # Begun on another device, say: nothing in it is worth keeping.
        shutil.rmtree(run.path, ignore_errors=True)
    elif not run.is_of(cell.config, on_any_device=results is not None):
        # Somebody else's, or of settings that the name of the run does not show: refused.
        run.claim(cell.config)
    if results is None:
        with quiet():
            results = execute(cell.config, run, worlds)
    if keep and not run.report.exists():
        from fairgear.report import write_page

        write_page(results, run.report)
    elif not keep:
        run.keep_results_alone()
    return results
