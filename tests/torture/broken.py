"""One defect for each kind of trials, which some trial of the kind must find.

A defect is planted in this process; programs are forks of it.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from fairgear import code_cache, environment, report, text
from fairgear.auditing.adapters import folder as folder_adapter
from fairgear.auditing.exchange import read_manifest
from fairgear.cli import app
from fairgear.datasets import download
from fairgear.graph.stored import folder as stored_folder
from fairgear.graph.tables import encoding
from fairgear.runs import audits, config, execution
from fairgear.runs.folder import RunFolder
from tests.torture.events import At, error
from tests.torture.kinds import (
    cheating,
    code,
    commands,
    damage,
    disks,
    documents,
    downloads,
    faults,
    graphs,
    kills,
    large,
    permissions,
    privacy,
    read_only,
    settings,
    steering,
    stored,
    tables,
    tensors,
    together,
)
from tests.torture.kinds import (
    environment as variables,
)
from tests.torture.shared import Shared
from tests.torture.trial import Work

Patch = pytest.MonkeyPatch
Defect = Callable[[Patch], None]
# The kind, a trial of it, and the defect.
BROKEN: dict[str, tuple[Callable[[Shared], Work], Defect]] = {}


def finds(kind: str, trial: Callable[[Shared], Work]) -> Callable[[Defect], Defect]:
    def noted(defect: Defect) -> Defect:
        BROKEN[kind] = trial, defect
        return defect

    return noted


@finds("kills", lambda shared: kills.at_name("run", signal.SIGKILL, "os.rename model.json"))
def renames_in_two_steps(patch: Patch) -> None:
    original = os.replace

    def torn(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:10])
        original(source, target)

    patch.setattr(os, "replace", torn)


@finds("together", lambda shared: together.others("run"))
def anybody_s_folder_is_ours(patch: Patch) -> None:
    patch.setattr(RunFolder, "claim", lambda self, config: self.path.mkdir(exist_ok=True))


def _traceback(patch: Patch) -> None:
    patch.setattr(app, "FairgearError", ZeroDivisionError)
    patch.setattr(app, "_refused", lambda error: app._bug())


@finds("disks", lambda shared: disks.results("run", 8))
def a_full_disk_is_a_bug(patch: Patch) -> None:
    _traceback(patch)


@finds("faults", lambda shared: faults.trial(
    "", "report", At(len(shared.events("report")) - 1, error(28)).install).work)  # fmt: skip
def what_the_system_refuses_is_a_bug(patch: Patch) -> None:
    _traceback(patch)


def _no_memory(shared: Shared) -> Work:
    return faults.at_place("report", shared.sites("report") - 5).work


@finds("memory", _no_memory)
def no_memory_is_a_bug(patch: Patch) -> None:
    patch.setattr(app, "MemoryError", ZeroDivisionError, raising=False)


@finds("read only", lambda shared: read_only.rooted("report", compiled=True))
def a_home_is_needed(patch: Patch) -> None:
    original = report.write_page

    def noted(audit: Any, path: Path) -> None:
        Path(os.environ["HOME"], ".fairgear").touch()
        original(audit, path)

    patch.setattr(report, "write_page", noted)


def _small(shared: Shared) -> str:
    """What is compiled soonest."""
    names = code.files(shared)
    (folder,) = (shared.root / "code").iterdir()
    return min(names, key=lambda name: (folder / name).stat().st_size)


@finds("code", lambda shared: code.planted(_small(shared), keeps_mac=False))
def every_file_is_trusted(patch: Patch) -> None:
    checked = code_cache._checked
    patch.setattr(
        code_cache, "_checked", lambda path, stamp: checked(path, stamp) or code_cache._read(path)
    )


@finds("damage", lambda shared: damage.on_stored("x.npy", 0.75))
def arrays_are_not_compared(patch: Patch) -> None:
    _unchecked(patch)


@finds("stored", lambda shared: stored.impossible("unsorted neighbours"))
def arrays_are_not_checked(patch: Patch) -> None:
    _unchecked(patch)


def _unchecked(patch: Patch) -> None:
    patch.setattr(stored_folder, "check_content", lambda *_, **__: None)
    patch.setattr(stored_folder, "check_bytes", lambda *_, **__: None)


@finds(
    "documents", lambda shared: documents.read_as("trained/model/encoding.json", '{"columns": 3}')
)
def errors_of_parsers_escape(patch: Patch) -> None:
    patch.setattr(encoding, "reading", lambda *_, **__: nullcontext())


@finds("settings", lambda shared: settings.config("seed: !!timestamp x"))
def any_yaml_is_read(patch: Patch) -> None:
    patch.setattr(config, "read_yaml", lambda path: yaml.safe_load(path.read_text()))


@finds("tensors", lambda shared: tensors.planted("run"))
def everything_is_unpickled(patch: Patch) -> None:
    original = torch.load
    patch.setattr(torch, "load", lambda file, **_: original(file, weights_only=False))


@finds("tables", lambda shared: tables.no_file("pipe", ".csv", seconds=4))
def pipes_are_files(patch: Patch) -> None:
    patch.setattr(stat, "S_ISREG", lambda mode: True)


@finds("environment", lambda shared: variables.given({"NUMBA_NUM_THREADS": "x"}))
def numbers_are_believed(patch: Patch) -> None:
    patch.setattr(environment, "whole_number", lambda name, *_: int(os.environ[name]))


@finds("downloads", lambda shared: downloads.answered("other"))
def any_content_is_right(patch: Patch) -> None:
    patch.setattr(download, "_transfer", lambda file, path: path.write_bytes(b"x"))


@finds("commands", lambda shared: commands.ran("sys.exit(3)", to_file=False))
def folders_stay(patch: Patch) -> None:
    patch.setattr(shutil, "rmtree", lambda *_, **__: None)


@finds("cheating", lambda shared: cheating.tricked(cheating.own_key))
def their_key_is_read(patch: Patch) -> None:
    def theirs(folder: Path) -> Any:
        own = folder / "for-scoring"
        return read_manifest(own if (own / "key.json").exists() else folder)

    patch.setattr(folder_adapter, "read_manifest", theirs)
    patch.setattr(audits, "read_manifest", theirs)


@finds("steering", lambda shared: steering.shown("column", steering.PAYLOADS["escape"]))
def text_is_shown_as_it_is(patch: Patch) -> None:
    patch.setattr(text, "_is_hidden", lambda one: False)


@finds("permissions", lambda shared: permissions.refused("audit", "trained/config.yaml", 0))
def unreadable_files_are_bugs(patch: Patch) -> None:
    _traceback(patch)


@finds("privacy", lambda shared: privacy.killed())
def others_may_enter(patch: Patch) -> None:
    original, mkdir = tempfile.mkdtemp, os.mkdir

    def open_to_all(*args: Any) -> str:
        # From the first moment on: it is looked at as soon as it is there.
        with Patch.context() as inner:
            inner.setattr(os, "mkdir", lambda path, mode=0o777: mkdir(path, 0o755))
            made: str = original(*args)
        return made

    patch.setattr(tempfile, "mkdtemp", open_to_all)


@finds("graphs", lambda shared: graphs.trained({"x": graphs.FEATURES["constants"]}, "logistic"))
def features_always_vary(patch: Patch) -> None:
    patch.setattr(
        execution, "check_trainable", lambda graph, *_, **__: 1 / float(graph.x[:, 0].var())
    )


@finds("large", lambda shared: large.wide(30))
def memory_is_no_matter(patch: Patch) -> None:
    def wasteful(*_: Any, **__: Any) -> None:
        execution.held = bytearray(b"x") * 1_300_000_000  # type: ignore[attr-defined]

    patch.setattr(execution, "check_trainable", wasteful)
