"""What `fairgear doctor` looks at. Each check says what it found, and what is broken."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from fairgear.caching import cache_parts
from fairgear.cli.cache import described, shown_size
from fairgear.datasets.names import FILES
from fairgear.reading import memory
from fairgear.version import installed_version

# Free bytes below which a run on a table of usual size may fail.
_LOW = 10**9
# Where Linux says how much memory is free, and how much of it this container may have.
_MEMORY = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")
_USED = Path("/sys/fs/cgroup/memory.current")
# There is a driver for GPUs where this is.
_DRIVER = Path("/dev/nvidiactl")
_SHOWN = ("torch", "torch-geometric", "numba", "numpy", "pandas", "scikit-learn")
_MAINTAINERS = "dev"


class Problem(NamedTuple):
    """What is broken, and what to do."""

    what: str
    advice: str


def examined() -> tuple[dict[str, Any], list[Problem]]:
    """Everything that was found, ready for JSON, and what is broken."""
    problems: list[Problem] = []
    found = {
        "versions": _versions(problems),
        "devices": _devices(problems),
        "threads": _threads(),
        "caches": _caches(problems),
        "disks": _disks(problems),
        "memory": _memory(problems),
        "extras": _extras(),
        "data": _data(problems),
    }
    return found, problems


def _versions(problems: list[Problem]) -> dict[str, Any]:
    for requirement in _requirements():
        found = _installed(requirement.name)
        if _wanted(requirement, "") and not _satisfied(requirement):
            what = f"{requirement.name} {found or 'is not installed'}"
            asked = f"{requirement.name}{requirement.specifier}"
            problems.append(Problem(f"{what}; fairgear needs {asked}", f"pip install '{asked}'"))
    return {
        "fairgear": installed_version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: _installed(name) or "not installed" for name in _SHOWN},
    }


def _devices(problems: list[Problem]) -> list[str]:
    try:
        import torch
    # A broken installation may raise anything.
    except Exception as error:
        line = (str(error).splitlines() or [""])[0]
        problems.append(
            Problem(f"torch cannot be imported ({line})", "pip install --force-reinstall torch")
        )
        return ["none"]
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0 and torch.version.cuda is not None and _DRIVER.exists():
        what = f"there is a GPU, but torch, built for CUDA {torch.version.cuda}, cannot use it"
        problems.append(Problem(what, "update the driver, or install torch for its version"))
    cards = [torch.cuda.get_device_properties(one) for one in range(count)]
    return ["cpu", *(f"cuda: {card.name}, {shown_size(card.total_memory)}" for card in cards)]


def _threads() -> dict[str, Any]:
    try:
        import torch

        of_torch = torch.get_num_threads()
    except Exception:
        # Said above.
        of_torch = 0
    cores = os.cpu_count() or 1
    if sys.platform == "linux":
        # A container or a scheduler may allow fewer.
        cores = len(os.sched_getaffinity(0))
    # As numba counts, without loading it.
    compiled = int(os.environ.get("NUMBA_NUM_THREADS", cores))
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")
    chosen = {name: os.environ[name] for name in names if name in os.environ}
    return {"torch": of_torch, "compiled": compiled, "cores": cores, "environment": chosen}


def _caches(problems: list[Problem]) -> list[dict[str, Any]]:
    found, now = [], time.time()
    for part in cache_parts(FILES):
        reason = _cannot_write(part.folder)
        if reason:
            what = f"the cache of {part.what} cannot be written at {part.folder} ({reason})"
            shared = part.name == "compiled" and os.environ.get("NUMBA_CACHE_DIR")
            named = "NUMBA_CACHE_DIR" if shared else "FAIRGEAR_CACHE"
            problems.append(Problem(what, f"set {named} to a folder of yours"))
        found.append(described(part, part.files(), now) | {"writable": not reason})
    return found


def _cannot_write(folder: Path) -> str:
    """Why nothing can be written to a folder, or where it would be made; empty if it can."""
    there = _existing(folder)
    try:
        # A file without a name where the system has such: nothing is left behind.
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that there is."""
    path = Path(os.path.abspath(path))
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _disks(problems: list[Problem]) -> list[dict[str, Any]]:
    places = {"this folder": Path.cwd(), "cache": cache_parts(())[0].folder.parent}
    steps = {"this folder": "another --out", "cache": "another FAIRGEAR_CACHE"}
    try:
        places["temporary files"] = Path(tempfile.gettempdir())
    except OSError:
        what = "no folder for temporary files can be written"
        problems.append(Problem(what, "set TMPDIR to a folder of yours"))
    found = []
    for what, path in places.items():
        free = shutil.disk_usage(_existing(path)).free
        if free < _LOW:
            said = f"only {shown_size(free)} are free at {path}"
            other = steps.get(what, "another TMPDIR")
            problems.append(Problem(said, f"remove what is not needed, or choose {other}"))
        found.append({"what": what, "path": str(path), "free_bytes": free})
    return found


def _memory(problems: list[Problem]) -> dict[str, Any]:
    total, free = memory(), _free_memory()
    if free is not None and free < _LOW:
        what = f"only {shown_size(free)} of memory are free"
        problems.append(Problem(what, "end other programs, or take a larger machine"))
    return {"total_bytes": total, "available_bytes": free}


def _free_memory() -> int | None:
    """In bytes, within the limit of a container; None where the system does not say."""
    lines = _text(_MEMORY).splitlines()
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    limit, used = _text(_LIMIT).strip(), _text(_USED).strip()
    if limit.isdecimal() and used.isdecimal():
        found.append(max(0, int(limit) - int(used)))
    return min(found, default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _extras() -> dict[str, bool]:
    """Which optional parts are complete."""
    needed: dict[str, list[Requirement]] = {}
    for requirement in _requirements():
        for name in _extra_names(requirement):
            needed.setdefault(name, []).append(requirement)
    return {name: all(map(_satisfied, one)) for name, one in needed.items()}


def _extra_names(requirement: Requirement) -> list[str]:
    """The extras that ask for it, except that of fairgear's maintainers."""
    if requirement.marker is None or _wanted(requirement, ""):
        return []
    words = str(requirement.marker).replace("'", '"').split('"')[1::2]
    return [word for word in words if word != _MAINTAINERS and _wanted(requirement, word)]


def _requirements() -> list[Requirement]:
    try:
        return [Requirement(line) for line in requires("fairgear") or ()]
    except PackageNotFoundError:
        return []


def _wanted(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _satisfied(requirement: Requirement) -> bool:
    found = _installed(requirement.name)
    return found is not None and requirement.specifier.contains(found, prereleases=True)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _data(problems: list[Problem]) -> dict[str, Any]:
    named = os.environ.get("FAIRGEAR_DATA")
    if not named:
        return {"folder": None, "files": []}
    folder = Path(os.path.expanduser(named))
    if not folder.is_dir():
        what = f"FAIRGEAR_DATA names {named}, which is no folder"
        problems.append(Problem(what, "correct it, or unset it to download the files"))
    return {"folder": str(folder), "files": [one for one in FILES if (folder / one).is_file()]}
