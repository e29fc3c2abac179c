"""Junk in the variables of the environment that torchrun, SLURM, threads and folders have."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

from tests.hostile.inputs import ESCAPE
from tests.torture.shared import COMMANDS, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import must

_JUNK = ("", "-1", "x", "9" * 5000, "1e9", "nan", ESCAPE, "\u202e7", "0x10", " 1", "١")
_JOB = {
    "TORCHELASTIC_RUN_ID": "t",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "1",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
}
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_SLURM = ("SLURM_JOB_ID", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SLURM_LOCALID")
_FOLDERS = (
    *("FAIRGEAR_DATA", "FAIRGEAR_CACHE", "NUMBA_CACHE_DIR"),
    *("TMPDIR", "HOME", "XDG_CACHE_HOME"),
)
_PLACES = ("/dev/null", "/proc/nowhere", "x" * 300, "~nobody/x", ESCAPE, "", "relative")
_OTHERS = {
    "COLUMNS": "-3",
    "LINES": "x",
    "TERM": ESCAPE,
    "NO_COLOR": "",
    "PYTHONIOENCODING": "ascii",
    "DASK_SCHEDULER_ADDRESS": ESCAPE,
    "SOURCE_DATE_EPOCH": "x",
    "LANG": "C",
    "LC_ALL": "xx",
}


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each variable with some junk."""
    for name in (*_JOB, *_THREADS):
        for value in seed.sample(_JUNK, 3):
            job = {**_JOB, name: value} if name in _JOB else {name: value}
            yield Trial(f"{name}={value[:20]!r}", given(job))
    for name in _SLURM:
        for value in seed.sample(_JUNK, 2):
            yield Trial(f"{name}={value[:20]!r}", given({name: value}))
    for name in _FOLDERS:
        for place in seed.sample(_PLACES, 3):
            yield Trial(f"{name}={place[:20]!r}", given({name: place}))
    for name, value in _OTHERS.items():
        yield Trial(f"{name}={value!r}", given({name: value}))


def given(variables: dict[str, str]) -> Work:
    """The run works as ever, or the variable is named in one line."""

    def work(bench: Bench) -> str:
        def before() -> None:
            os.environ.update(variables)

        ended = bench.run(COMMANDS["run"], before, seconds=60)
        verdict = bench.judged(ended, "run")
        if ended.status:
            must(any(name in ended.err for name in variables), f"not named: {ended.err[-200:]!r}")
            must(not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work
