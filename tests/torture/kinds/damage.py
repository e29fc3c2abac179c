"""A bit flips in a file that an earlier command has written."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.storage import flipped, truncated
from tests.torture.events import At, sent
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, RESUMED, WORKED, must, results

_PLACES = (0.02, 0.25, 0.5, 0.75, 0.97)
_VERIFIES = 3


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each file, some places; what reads it gives the undisturbed results or refuses."""
    trained = _files(shared.inputs / "trained")
    for name in trained:
        for place in seed.sample(_PLACES, 2):
            yield Trial(f"trained/{name}: bit at {place}, then audit", _audited(name, place))
        if name != "SHA256SUMS":
            for place in seed.sample(_PLACES, 2):
                yield Trial(f"trained/{name}: bit at {place}, then verify", verified(name, place))
        for place in seed.sample(_PLACES, 2):
            yield Trial(
                f"trained/{name}: bit at {place}, then the same run", _run_again(name, place)
            )
    for place in _PLACES:
        yield Trial(f"audit.json: bit at {place}, then report", _reported(place))
    for name in _files(shared.inputs / "stored"):
        for place in seed.sample(_PLACES, 3):
            yield Trial(f"stored/{name}: bit at {place}, then run", on_stored(name, place))
    for number in range(12):
        yield Trial(f"checkpoint: bit or cut {number}, then resumed", _checkpoint(number))
    yield from _of_exports(shared, seed)


def _of_exports(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    for name in ("key.json", *_files(shared.inputs / "exported" / "for-scoring")):
        place = seed.choice(_PLACES)
        yield Trial(f"exported/{name}: bit at {place}, then export", _exported(name, place))


def _audited(name: str, place: float) -> Work:
    def work(bench: Bench) -> str:
        _flip(bench, bench.place / "trained" / name, place)
        return bench.judged(bench.run(COMMANDS["audit"]), "audit")

    return work


def verified(name: str, place: float) -> Work:
    """`audit verify` names the file."""

    def work(bench: Bench) -> str:
        _flip(bench, bench.place / "trained" / name, place)
        ended = bench.run(["audit", "verify", "trained"])
        must(ended.status in (2, _VERIFIES), f"status {ended.status}: not noticed")
        must("Traceback" not in ended.err, f"a traceback: {ended.err[-200:]!r}")
        return REFUSED

    return work


def _run_again(name: str, place: float) -> Work:
    def work(bench: Bench) -> str:
        (bench.place / "trained").rename(bench.place / "out")
        _flip(bench, bench.place / "out" / name, place)
        ended = bench.run(COMMANDS["run"])
        if ended.status:
            return bench.judged(ended)
        # A finished run is not computed again: what was damaged may stay where nothing reads it.
        bench.judged(ended)
        before = results(bench.place / "out")["audit.json"]
        must(before == bench.shared.expected("run")["audit.json"], "other results")
        return WORKED

    return work


def _reported(place: float) -> Work:
    def work(bench: Bench) -> str:
        _flip(bench, bench.place / "trained" / "audit.json", place)
        ended = bench.run(["report", "trained", "--out", "page.html"])
        return bench.judged(ended) if ended.status else _as_before(bench)

    def _as_before(bench: Bench) -> str:
        page = (bench.place / "page.html").read_text()
        must(page == (bench.shared.root / "report" / "out").read_text(), "another page")
        return WORKED

    return work


def on_stored(name: str, place: float) -> Work:
    """A run on a stored graph with a flipped bit."""

    def work(bench: Bench) -> str:
        _flip(bench, bench.place / "stored" / name, place)
        return bench.judged(bench.run(COMMANDS["run stored"]), "run stored")

    return work


def _checkpoint(number: int) -> Work:
    def work(bench: Bench) -> str:
        # Its second checkpoint is about to take the place of the first.
        killed = At(1, sent(signal.SIGKILL), name="os.rename network.safetensors")
        bench.run(COMMANDS["run gear"], killed.install)
        found = list((bench.place / "out" / "checkpoint").rglob("*.safetensors"))
        must(found, "no checkpoint")
        path = bench.random.choice(found)
        if number % 4 == 3:
            truncated(path, bench.random.random())
        else:
            _flip(bench, path, bench.random.random())
        ended = bench.run(COMMANDS["run gear"])
        verdict = bench.judged(ended, "run gear")
        return RESUMED if verdict == WORKED else verdict

    return work


def _exported(name: str, place: float) -> Work:
    """The same export again heals it, or refuses."""

    def work(bench: Bench) -> str:
        folder = bench.place / "out"
        (bench.place / "exported").rename(folder)
        path = folder / name if name == "key.json" else folder / "for-scoring" / name
        _flip(bench, path, place)
        ended = bench.run(COMMANDS["export"])
        return bench.judged(ended) if ended.status else bench.judged(ended, "export")

    return work


def _flip(bench: Bench, path: Path, place: float) -> None:
    flipped(path, place, bench.random.randrange(8))


def _files(folder: Path) -> list[str]:
    return [p.relative_to(folder).as_posix() for p in sorted(folder.rglob("*")) if p.is_file()]
