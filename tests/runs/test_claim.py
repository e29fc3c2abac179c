"""Several commands into one folder: who is refused changes nothing."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.errors import FileError
from fairgear.files import TEMPORARY, replacing
from fairgear.runs.config import RunConfig
from fairgear.runs.folder import RunFolder


def config(seed: int) -> RunConfig:
    return RunConfig.from_dict({"seed": seed}).completed()


def test_a_refused_command_removes_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.claim(config(0))
    left = folder.path / f".audit.abcdefgh.json{TEMPORARY}"
    left.write_text("half")
    with pytest.raises(FileError, match="other settings"):
        folder.claim(config(1))
    assert left.exists()
    folder.claim(config(0))
    assert not left.exists()


@pytest.mark.parametrize("seed", [0, 1])
def test_what_the_first_command_writes_stays(seed: int, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.claim(config(0))
    with replacing(folder.metrics) as temporary:
        temporary.write_text("{}")
        if seed == 0:
            folder.claim(config(seed))
        else:
            with pytest.raises(FileError, match="other settings"):
                folder.claim(config(seed))
    assert folder.metrics.read_text() == "{}"


def _claim(barrier: Any, path: Path, seed: int, won: Any) -> None:
    barrier.wait()
    try:
        RunFolder(path).claim(config(seed))
        won.put(seed)
    except FileError:
        won.put(None)


def test_of_commands_that_begin_at_once_one_gets_the_folder(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for trial in range(5):
        path, barrier, won = tmp_path / str(trial), context.Barrier(4), context.SimpleQueue()
        processes = [
            context.Process(target=_claim, args=(barrier, path, seed, won)) for seed in range(4)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        winners = [seed for seed in (won.get() for _ in processes) if seed is not None]
        assert len(winners) == 1
        assert yaml.safe_load((path / "config.yaml").read_text())["seed"] == winners[0]
        assert [entry.name for entry in path.iterdir()] == ["config.yaml"]
