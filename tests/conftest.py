"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Before any library reads them: models this small gain nothing from threads, and several test
# processes with several threads each lose minutes waiting for one another. Child processes of
# the tests inherit them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
# Compiled modules are kept, here and in child processes: rewriting the assertions of all test
# modules takes a third of the time before the first test.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Compiled functions too; each run of the tests has a cache folder of its own.
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)
# What is imported stays until the end: looking for garbage among it takes seconds.
gc.disable()

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# Times on a shared machine vary; a deadline would fail tests at random.
settings.register_profile("fairgear", deadline=None, max_examples=40)
settings.load_profile("fairgear")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for the whole run, shared by its processes; the user's stays as it is."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGEAR_CACHE", str(folder / "cache"))
        yield
