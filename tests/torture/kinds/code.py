"""Compiled code that is damaged, planted, or of somebody else."""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core.registry import CPUDispatcher

from fairgear.code_cache import CodeCache
from tests.hostile.storage import DAMAGE, bomb
from tests.torture.program import Program
from tests.torture.shared import COMMANDS, PATIENCE, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import WORKED, must

COMMAND = "run"
_SOME = ("bit flipped at 0.5", "removed")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each damage to one of the files, some to the secret and to all; bombs in each file."""
    names = files(shared)
    for name in DAMAGE:
        one = seed.choice(names)
        yield Trial(f"{one[:20]}: {name}", _spoilt(lambda f, n=name, o=one: DAMAGE[n](f / o)))  # type: ignore[misc]
    for name in _SOME:
        yield Trial(f"secret: {name}", _spoilt(lambda f, n=name: DAMAGE[n](f / "secret")))  # type: ignore[misc]
    for one in names:
        yield Trial(f"{one[:20]}: planted", planted(one, keeps_mac=False))
        yield Trial(f"{one[:20]}: planted behind its check", planted(one, keeps_mac=True))
    yield Trial("the folder of somebody else", _spoilt(lambda f: os.chown(f, 12345, 12345)))
    yield Trial("a folder that is a link", _spoilt(_linked))


def files(shared: Shared) -> list[str]:
    """The names of the compiled functions that the command uses; they are copied once."""
    folder = shared.root / "code" / f"compiled-{os.geteuid()}"
    if not folder.exists():
        kept = Path(os.environ["NUMBA_CACHE_DIR"]) / folder.name
        place = shared.place("compiled")
        program = Program.of(place, COMMANDS[COMMAND], lambda: _note_code(place))
        ended = program.wait(10 * PATIENCE)
        must(ended.status == 0, f"undisturbed: status {ended.status}, {ended.err[-1000:]}")
        folder.mkdir(parents=True, mode=0o700)
        for name in ("secret", *json.loads((place / ".code.json").read_text())):
            shutil.copy2(kept / name, folder)
    return sorted(path.name for path in folder.glob("*.code"))


def _note_code(place: Path) -> None:
    """Write down at the end which compiled functions were opened."""
    _forget()
    opened: set[str] = set()

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).endswith(".code"):
            opened.add(os.path.basename(arguments[0]))

    sys.addaudithook(hear)
    atexit.register(lambda: (place / ".code.json").write_text(json.dumps(sorted(opened))))


def _spoilt(spoil: Callable[[Path], object]) -> Work:
    def work(bench: Bench) -> str:
        spoil(_own(bench))
        return _ran(bench)

    return work


def planted(name: str, *, keeps_mac: bool) -> Work:
    """A pickle in place of the code: the run is as ever, and nothing was executed."""

    def work(bench: Bench) -> str:
        trace, path = bench.place / "executed", _own(bench) / name
        before = path.read_bytes()[:32] if keeps_mac else b""
        path.write_bytes(before + bomb(trace))
        _ran(bench)
        must(not trace.exists(), "what was planted was executed")
        return WORKED

    return work


def _own(bench: Bench) -> Path:
    shutil.copytree(bench.shared.root / "code", bench.place / "code")
    return bench.place / "code" / f"compiled-{os.geteuid()}"


def _ran(bench: Bench) -> str:
    ended = bench.run(COMMANDS[COMMAND], lambda: _use(bench.place / "code"))
    must(ended.status == 0, f"status {ended.status}: {ended.err[-300:]!r}")
    return bench.judged(ended, COMMAND)


def _use(folder: Path) -> None:
    _forget()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


def _forget() -> None:
    """Functions that this process has compiled or loaded are loaded once more."""
    # Frozen objects are not among those that are listed.
    gc.unfreeze()
    for found in gc.get_objects():
        if type(found) is CPUDispatcher and isinstance(found._cache, CodeCache):
            found._make_finalizer()()
            found._reset_overloads()


def _linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
