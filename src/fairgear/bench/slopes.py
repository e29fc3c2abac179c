"""How cost grows with size: the slope of a line through logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence


def slope(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """b of cost ≈ a·sizeᵇ, by least squares of the logarithms; None with fewer than two sizes."""
    points = [
        (math.log(n), math.log(cost))
        for n, cost in zip(sizes, costs, strict=True)
        if n > 0 and cost > 0
    ]
    if len({x for x, _ in points}) < 2:
        return None
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    across = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return across / sum((x - mean_x) ** 2 for x, _ in points)
