"""Tables in Parquet files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from fairgear.graph.reading.source import content, unreadable


def read_parquet(path: Path) -> pd.DataFrame:
    """The table as pandas sees it, whole numbers with gaps kept as whole numbers."""
    found = content(path)
    try:
        table = parquet.read_table(pa.BufferReader(found))
        # Integers with gaps would become floats, and long ids others'.
        frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise unreadable(
            path, "no table in Parquet", "a Parquet file", "check what kind of file it is"
        ) from error
    return frame
