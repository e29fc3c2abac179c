"""One run of a study, in a worker process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from fairgear.compiled import limit_threads
from fairgear.files import taking_turns
from fairgear.progress import quiet
from fairgear.runs.execution import WorldsCache, run
from fairgear.studies.spec import Cell

# The worlds of one graph, shared by the runs of this process.
_worlds = WorldsCache()


def run_cell(cell: Cell, study: Path, *, keep: bool) -> dict[str, Any]:
    """The row of a cell; it is trained and measured unless its folder has the results.

    Args:
        cell: what to run.
        study: the folder of the study.
        keep: whether the model, the predictions and a page are kept too.
    """
    compute_with_one_thread()
    folder = cell.folder(study)
    # A worker that outlived its study may still be at this run.
    with taking_turns(folder.path):
        # One that kept its results alone has no page.
        found = folder.results(people=False) if folder.report.exists() or not keep else None
        if found is None:
            if not folder.is_of(cell.config):
                # Begun on another device: only finished results carry over.
                check_folder(cell, study)
                shutil.rmtree(folder.path, ignore_errors=True)
            with quiet():
                found = run(cell.config, folder, _worlds)
        if not keep:
            folder.keep_results_alone()
    return cell.row(found)


def check_folder(cell: Cell, study: Path) -> None:
    """Refuse a folder that belongs to another run, whatever device that was on."""
    folder = cell.folder(study)
    if not folder.is_of(cell.config, on_any_device=True):
        folder.claim(cell.config)


def compute_with_one_thread() -> None:
    """Results must not depend on how many runs share the machine."""
    limit_threads(1)
    threadpool_limits(1)
    torch.set_num_threads(1)
