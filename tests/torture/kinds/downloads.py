"""Servers on this machine that answer slowly, wrongly, too long, or with somewhere else."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairgear.datasets import download
from fairgear.datasets.download import fetch
from tests.datasets.test_download import CONTENT, Handler, Server, remote
from tests.torture.events import ERRORS, At, error
from tests.torture.shared import Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, WORKED, must

ANSWERS = (
    "other",
    "longer",
    "truncated",
    "missing",
    "silent",
    "trickling",
    "headers_forever",
    "junk_address/http://[",
    "junk_address/file:///etc/passwd",
    "junk_address/ftp://127.0.0.1/x",
    "junk_address/%1b[31m",
    "length/-1",
    "length/many",
    "length/99999999999999999999999",
    "length/200015",
    "steering",
)
_DAMAGED = {"empty": b"", "cut": CONTENT[:-1], "other": CONTENT.replace(b"0", b"1")}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each answer; damaged caches; nobody there; a disk that fails."""
    for answer in ANSWERS:
        yield Trial(f"the server answers: {answer}", answered(answer))
    for name in _DAMAGED:
        yield Trial(f"a cache that is {name}", _cached(name))
    yield Trial("nobody answers", _nobody())
    for number in range(4):
        yield Trial(f"the disk refuses call {number}", _failing(number))


def answered(answer: str) -> Work:
    """One line, soon, and nothing left; then the right answer is taken."""

    def work(bench: Bench) -> str:
        with _server() as server:
            wrong, right = remote(server, answer), remote(server)
            ended = bench.call(lambda: fetch(wrong), _impatient, seconds=20)
            verdict = bench.judged(ended)
            must(verdict == REFUSED, "accepted")
            must(not _files(bench.place / "cache"), "something is left")
            again = bench.call(lambda: fetch(right), _impatient, seconds=20)
            must(again.status == 0, f"afterwards: {again.err!r}")
            must(len(_files(bench.place / "cache")) == 1, "nothing was kept")
        return verdict

    return work


def _cached(name: str) -> Work:
    def work(bench: Bench) -> str:
        with _server() as server:
            file = remote(server)
            path = bench.place / "cache" / "datasets" / file.path
            path.parent.mkdir(parents=True)
            path.write_bytes(_DAMAGED[name])
            ended = bench.call(lambda: fetch(file), _impatient, seconds=20)
            must(ended.status == 0 and path.read_bytes() == CONTENT, f"not healed: {ended.err!r}")
        bench.judged(ended)
        return WORKED

    return work


def _nobody() -> Work:
    def work(bench: Bench) -> str:
        with _server() as server:
            file = remote(server)
        return bench.judged(bench.call(lambda: fetch(file), _impatient, seconds=20))

    return work


def _failing(number: int) -> Work:
    def work(bench: Bench) -> str:
        with _server() as server:
            file = remote(server)

            def before() -> None:
                _impatient()
                At(number, error(ERRORS["no space"])).install()

            ended = bench.call(lambda: fetch(file), before, seconds=20)
            verdict = bench.judged(ended)
            shutil.rmtree(bench.place / "cache", ignore_errors=True)
        return verdict

    return work


def _impatient() -> None:
    download.SILENCE, download.PATIENCE = 0.5, 3.0


@contextmanager
def _server() -> Iterator[Server]:
    os.environ["no_proxy"] = "*"
    os.environ.pop("FAIRGEAR_DATA", None)
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
