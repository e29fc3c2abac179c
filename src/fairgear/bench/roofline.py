"""Which limit of the machine applies to a piece of work, and how much of it is reached."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

GEMM, BANDWIDTH, RANDOM = "GEMM", "bandwidth", "random access"
# What each limit is a limit of, as columns of the results.
NEEDED = {GEMM: "operations", BANDWIDTH: "bytes", RANDOM: "accesses"}


def bound(row: Mapping[str, Any], rates: Mapping[str, float]) -> tuple[str, float] | None:
    """The limit that keeps a unit of the work longest, and the share of it that `row` reaches.

    None where nothing was counted or nothing measured.
    """
    least = {
        limit: float(row.get(needed) or 0.0) / rates[limit]
        for limit, needed in NEEDED.items()
        if rates.get(limit)
    }
    least = {limit: seconds for limit, seconds in least.items() if seconds > 0}
    seconds = float(row.get("seconds") or 0.0)
    if not least or not seconds > 0 or math.isnan(max(least.values())):
        return None
    limit = max(least, key=least.__getitem__)
    return limit, least[limit] / seconds
