"""`fairgear doctor`: each fact against another source, each fault made on purpose."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch

from fairgear.cli import health, main
from fairgear.cli.cache import PARTS
from fairgear.datasets.names import FILES


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAIRGEAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRGEAR_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examined(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    status = main(["doctor", "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert status == (0 if found["healthy"] else 1)
    assert found["healthy"] is not bool(found["problems"])
    return found


def test_what_is_found(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = examined(capsys)
    assert found["healthy"], found["problems"]
    versions = found["versions"]
    assert versions["fairgear"] == version("fairgear")
    assert versions["python"] == sys.version.split()[0]
    assert versions["libraries"]["torch"] == version("torch")
    assert found["devices"][0] == "cpu"
    assert len(found["devices"]) == 1 + torch.cuda.device_count()
    assert found["threads"]["torch"] == torch.get_num_threads()
    assert found["threads"]["environment"]["OMP_NUM_THREADS"] == os.environ["OMP_NUM_THREADS"]
    assert tuple(part["part"] for part in found["caches"]) == PARTS
    assert all(part["writable"] for part in found["caches"])
    disk = found["disks"][0]
    assert disk["free_bytes"] == pytest.approx(shutil.disk_usage(place).free, rel=0.1)
    memory = found["memory"]
    assert 0 < memory["available_bytes"] <= memory["total_bytes"]
    assert found["extras"]["networkx"] is True
    assert "dev" not in found["extras"]
    assert {"causal", "tune", "dask", "ray"} <= found["extras"].keys()
    assert found["data"] == {"folder": None, "files": []}
    # It has only looked.
    assert list(place.iterdir()) == []


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in (version("torch"), "threads", "memory", "cache: compiled", "Nothing is broken."):
        assert word in out


def test_the_data_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "data" / "nba").mkdir(parents=True)
    (place / "data" / FILES[4]).write_text("x")
    monkeypatch.setenv("FAIRGEAR_DATA", str(place / "data"))
    assert examined(capsys)["data"]["files"] == ["nba/nba.csv"]


def low_disk(patch: pytest.MonkeyPatch, place: Path) -> None:
    usage = types.SimpleNamespace(free=500_000_000)
    patch.setattr("fairgear.cli.health.shutil.disk_usage", lambda path: usage)


def low_memory(patch: pytest.MonkeyPatch, place: Path) -> None:
    (place / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:   500000 kB\n")
    patch.setattr(health, "_MEMORY", place / "meminfo")


def full_container(patch: pytest.MonkeyPatch, place: Path) -> None:
    (place / "max").write_text("4000000000\n")
    (place / "now").write_text("3900000000\n")
    patch.setattr(health, "_LIMIT", place / "max")
    patch.setattr(health, "_USED", place / "now")


def no_cache(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.delenv("NUMBA_CACHE_DIR", raising=False)
    (place / "file").write_text("")
    patch.setenv("FAIRGEAR_CACHE", str(place / "file" / "cache"))


def no_shared_cache(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.setenv("NUMBA_CACHE_DIR", "/proc/nowhere")


def no_data(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.setenv("FAIRGEAR_DATA", str(place / "nowhere"))


def old_library(patch: pytest.MonkeyPatch, place: Path) -> None:
    true = health._installed
    patch.setattr(health, "_installed", lambda name: "0.5" if name == "numba" else true(name))


def missing_library(patch: pytest.MonkeyPatch, place: Path) -> None:
    true = health._installed
    patch.setattr(health, "_installed", lambda name: None if name == "torch" else true(name))


def broken_torch(patch: pytest.MonkeyPatch, place: Path) -> None:
    patch.setitem(sys.modules, "torch", None)


def useless_driver(patch: pytest.MonkeyPatch, place: Path) -> None:
    (place / "nvidiactl").touch()
    patch.setattr(health, "_DRIVER", place / "nvidiactl")
    patch.setattr("torch.version.cuda", "13.0")
    patch.setattr("torch.cuda.is_available", lambda: False)


@pytest.mark.parametrize(
    ("fault", "problem", "advice"),
    [
        (low_disk, "only 500 MB are free", "another --out"),
        (low_memory, "only 512 MB of memory", "larger machine"),
        (full_container, "only 100 MB of memory", "larger machine"),
        (no_cache, "cannot be written", "set FAIRGEAR_CACHE"),
        (no_shared_cache, "compiled functions cannot be written", "set NUMBA_CACHE_DIR"),
        (no_data, "FAIRGEAR_DATA names", "unset it"),
        (old_library, "numba 0.5; fairgear needs numba>=0.60", "pip install 'numba>=0.60'"),
        (missing_library, "torch is not installed", "pip install 'torch>=2.6'"),
        (broken_torch, "torch cannot be imported", "--force-reinstall torch"),
        (useless_driver, "there is a GPU, but torch, built for CUDA 13.0", "update the driver"),
    ],
)
def test_what_is_broken(
    fault: Callable[[pytest.MonkeyPatch, Path], None],
    problem: str,
    advice: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault(monkeypatch, place)
    first = examined(capsys)["problems"][0]
    assert problem in first["problem"]
    assert advice in first["advice"]
    assert main(["doctor"]) == 1
    captured = capsys.readouterr()
    assert f"Broken: {first['problem']}. Next: {first['advice']}." in captured.out
    assert captured.err == ""
    assert "Nothing is broken" not in captured.out


def test_it_takes_little_besides_torch(place: Path) -> None:
    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    spent = seconds("from fairgear.cli import main; main(['doctor'])")
    assert spent - seconds("import torch") < 3
