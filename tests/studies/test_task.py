"""One run of a study: made once, in its own folder, with one thread and shared worlds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fairgear.auditing import Worlds
from fairgear.auditing.provenance import COMMIT, source_commit
from fairgear.errors import FairgearError
from fairgear.runs import execution
from fairgear.runs.execution import run
from fairgear.runs.folder import RunFolder
from fairgear.studies import task
from fairgear.studies.task import check_folder, run_cell
from tests.studies.toy import toy_study

RESULTS = {"config.yaml", "audit.json", "SHA256SUMS"}
EVERYTHING = RESULTS | {"people.parquet", "predictions.parquet", "model"}
EVERYTHING |= {"people.csv", "report.html", "model-card.md", "SHA256SUMS"}


def names(folder: RunFolder) -> set[str]:
    return {entry.name for entry in folder.path.iterdir()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study whose first cell was run and kept; the second kept its results."""
    folder = tmp_path_factory.mktemp("study")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(COMMIT, "0123456")
        # An earlier test may have asked for the real one; later ones ask again.
        source_commit.cache_clear()
        made = []

        def counted(*graph: Any, **settings: Any) -> Any:
            made.append(settings["seed"])
            return Worlds(*graph, **settings)

        patch.setattr(execution, "Worlds", counted)
        patch.setattr(task, "_worlds", execution.WorldsCache())
        first, second, *_ = toy_study().cells
        threads = torch.get_num_threads()
        torch.set_num_threads(2)
        run_cell(first, folder, keep=True)
        run_cell(second, folder, keep=False)
        torch.set_num_threads(threads)
        assert made == [0], "both runs share the worlds of their graph"
    source_commit.cache_clear()
    return folder


def test_a_row_is_what_the_run_has_left_and_models_stay_where_they_are_wanted(whole: Path) -> None:
    first, second, *_ = toy_study().cells
    assert names(first.folder(whole)) == EVERYTHING
    assert names(second.folder(whole)) == RESULTS
    for cell in (first, second):
        row = run_cell(cell, whole, keep=cell == first)
        found = cell.folder(whole).results(people=False)
        assert found is not None
        assert {name: row[name] for name in found.metrics} == pytest.approx(
            found.metrics, rel=0, abs=0, nan_ok=True
        )
        assert (row["commit"], row["device"]) == ("0123456", "cpu")
        assert (row["dataset"], row["method"]) == ("synthetic", cell.entry.label)
        assert found.provenance is not None
        assert found.provenance.threads == 1


def test_shared_worlds_and_kept_models_change_no_figure(whole: Path, tmp_path: Path) -> None:
    second = toy_study().cells[1]
    shared = run_cell(second, whole, keep=False)
    alone = run(second.config, RunFolder(tmp_path / "alone")).metrics
    exactly = pytest.approx(alone, rel=0, abs=0, nan_ok=True)
    assert {name: shared[name] for name in alone} == exactly
    # Asked to keep what it has thrown away, the run is made again, to the same figures.
    shutil.copytree(whole / "runs", tmp_path / "runs")
    again = run_cell(second, tmp_path, keep=True)
    assert {name: again[name] for name in alone} == exactly
    assert names(second.folder(tmp_path)) == EVERYTHING


def test_what_is_there_is_not_run_again_unless_it_is_damaged_or_of_another_device(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def executed(config: Any, folder: RunFolder, worlds: Any) -> Any:
        made.append(config.device)
        assert not folder.config.exists() or folder.is_of(config)
        return RunFolder(whole / "runs" / folder.path.name).results(people=False)

    monkeypatch.setattr(task, "run", executed)
    shutil.copytree(whole / "runs", tmp_path / "runs")
    cell = toy_study().cells[0]
    elsewhere = replace(cell, config=replace(cell.config, device="auto"))
    # Where it was measured does not matter.
    for wanted, keep in ((cell, True), (elsewhere, True), (elsewhere, False)):
        run_cell(wanted, tmp_path, keep=keep)
    assert names(cell.folder(tmp_path)) == RESULTS
    assert made == []
    # What is damaged is measured again; what was begun on another device begins anew.
    cell.folder(tmp_path).metrics.write_text("{")
    run_cell(cell, tmp_path, keep=False)
    run_cell(elsewhere, tmp_path, keep=False)
    assert made == ["cpu", "auto"]


def test_a_run_with_other_settings_is_refused(whole: Path) -> None:
    cell = toy_study().cells[0]
    other = replace(cell, config=replace(cell.config, self_people=1))
    with pytest.raises(FairgearError, match="self_people was 0, now 1"):
        check_folder(other, whole)
    check_folder(cell, whole)
