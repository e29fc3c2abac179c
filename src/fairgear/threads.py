"""The variables that say with how many threads a process computes; read when libraries load."""

from __future__ import annotations

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
