"""Settings for all tests."""

from __future__ import annotations

import os

# Before any library reads them: models this small gain nothing from threads, and several test
# processes with several threads each lose minutes waiting for one another. Child processes of
# the tests inherit them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

from hypothesis import settings  # noqa: E402

# Times on a shared machine vary; a deadline would fail tests at random.
settings.register_profile("fairgear", deadline=None)
settings.load_profile("fairgear")
