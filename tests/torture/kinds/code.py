"""Compiled code that is damaged, planted, or of somebody else."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hostile.storage import DAMAGE, bomb
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import WORKED, must

COMMAND = "run gear"
_DAMAGED_ALL = ("bit flipped at 0.5", "cut at 0.9", "removed")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each damage to one of the files, to the secret and to all; bombs in each file."""
    for name in DAMAGE:
        one = seed.choice(files())
        yield Trial(f"{one[:20]}: {name}", _spoilt(lambda f, n=name, o=one: DAMAGE[n](f / o)))  # type: ignore[misc]
        yield Trial(f"secret: {name}", _spoilt(lambda f, n=name: DAMAGE[n](f / "secret")))  # type: ignore[misc]
    for name in _DAMAGED_ALL:
        yield Trial(f"all: {name}", _spoilt(lambda f, n=name: _each(f, DAMAGE[n])))  # type: ignore[misc]
    for one in files():
        yield Trial(f"{one[:20]}: planted", planted(one, keeps_mac=False))
        yield Trial(f"{one[:20]}: planted behind its check", planted(one, keeps_mac=True))
    yield Trial("the folder of somebody else", _spoilt(lambda f: os.chown(f, 12345, 12345)))
    yield Trial("a folder that is a link", _spoilt(_linked))


def files() -> list[str]:
    """The names of all compiled functions."""
    return sorted(path.name for path in _compiled().glob("*.code"))


def _compiled() -> Path:
    return Path(os.environ["NUMBA_CACHE_DIR"]) / f"compiled-{os.geteuid()}"


def _spoilt(spoil: Callable[[Path], object]) -> Work:
    def work(bench: Bench) -> str:
        own = _own(bench)
        spoil(own)
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
    own = bench.place / "code" / _compiled().name
    shutil.copytree(_compiled(), own)
    os.chmod(own, 0o700)
    return own


def _ran(bench: Bench) -> str:
    def before() -> None:
        os.environ["NUMBA_CACHE_DIR"] = str(bench.place / "code")

    ended = bench.run(COMMANDS[COMMAND], before)
    must(ended.status == 0, f"status {ended.status}: {ended.err[-300:]!r}")
    return bench.judged(ended, COMMAND)


def _each(folder: Path, spoil: Callable[[Path], None]) -> None:
    # Some are enough: each is compiled again for seconds.
    for path in sorted(folder.glob("*.code"))[:4]:
        spoil(path)
        if not path.exists():
            continue


def _linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))
