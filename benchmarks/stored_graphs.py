"""Seconds and memory of a graph that is built on disk, opened, and whose egos are found in shards.

    python -m benchmarks.stored_graphs build 1000000 10000000
    python -m benchmarks.stored_graphs egos 100000 1000000

Edges are random pairs, features 32 columns of a Parquet file. Each step runs in a process of its
own, whose peak is that of its resident memory; what Python and torch need by themselves is in it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

COLUMNS = 32
_PIECE = 2_000_000


def make(folder: Path, nodes: int, edges: int) -> None:
    """Write edges.parquet and people.parquet."""
    rng = np.random.default_rng(0)
    schema = pa.schema({"source": pa.int64(), "target": pa.int64()})
    with parquet.ParquetWriter(folder / "edges.parquet", schema) as writer:
        for begin in range(0, edges, _PIECE):
            ends = rng.integers(0, nodes, (2, min(_PIECE, edges - begin)))
            writer.write_table(pa.table({"source": ends[0], "target": ends[1]}))
    sens, merit = rng.integers(0, 2, nodes), rng.normal(size=nodes)
    columns: dict[str, Any] = {
        f"f{i}": (rng.normal(size=nodes) + merit * (i % 3 == 0)).astype(np.float32)
        for i in range(COLUMNS)
    }
    columns["sex"] = np.where(sens, "f", "m")
    columns["approved"] = (merit + rng.normal(size=nodes) > 0).astype(np.int64)
    parquet.write_table(pa.table(columns), folder / "people.parquet")


def measured(step: str, folder: Path) -> dict[str, Any]:
    """One step, in this process."""
    from fairgear.egos import sharded
    from fairgear.graph import TableColumns, build_stored, open_stored

    before, begin = _peak(), time.perf_counter()
    if step == "build":
        columns = TableColumns(sensitive="sex", label="approved")
        files = (folder / "edges.parquet", folder / "people.parquet")
        build_stored(folder / "graph", *files, columns)
    elif step == "open":
        open_stored(folder / "graph").fingerprint()
    else:
        sharded(open_stored(folder / "graph"), folder / "egos", k=20, precision="close")
    seconds = round(time.perf_counter() - begin, 2)
    return {"step": step, "seconds": seconds, "peak_mb": _peak(), "before_mb": before}


def _peak() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Make the files, then each step in a process of its own."""
    what, nodes, edges = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    steps = ["build", "open"] if what == "build" else ["build", "open", "egos", "egos"]
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), nodes, edges)
        for step in steps:
            subprocess.run([sys.executable, __file__, "step", step, folder], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "step":
        print(json.dumps(measured(sys.argv[2], Path(sys.argv[3]))))
    else:
        main()
