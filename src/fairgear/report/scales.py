"""Scales: where a value lies on an axis, in hundredths of its length, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, linear or logarithmic."""

    low: float
    high: float
    step: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where `value` lies, 0 to 100; what is off the axis lies at its end."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        share = (value - low) / (high - low)
        # Rounded so that the page is the same wherever it is made.
        return round(100 * min(1.0, max(0.0, share)), 2)

    def ticks(self) -> tuple[Tick, ...]:
        """The labelled places."""
        if self.log:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            stride = max(1, (last - first) // 3)
            powers = [10.0**power for power in range(first, last + 1, stride)]
            return tuple(Tick(self.at(value), f"{value:g}") for value in powers)
        number = round((self.high - self.low) / self.step)
        digits = max(0, -math.floor(math.log10(self.step) + 1e-9))
        digits += not math.isclose(self.step * 10**digits, round(self.step * 10**digits))
        values = [self.low + index * self.step for index in range(number + 1)]
        return tuple(
            Tick(self.at(value), f"{value:,.{digits}f}".replace("-", "−")) for value in values
        )


def nice(values: Sequence[float], *, zero: bool = False, parts: int = 4) -> Scale:
    """A linear scale over `values` whose ticks are round numbers; `zero` makes it begin at 0."""
    low = 0.0 if zero else min(values, default=0.0)
    high = max(values, default=1.0)
    if high - low < 1e-9:
        # Nothing varies: leave room on both sides, or above where 0 is the end of the world.
        room = max(abs(high) * 0.1, 1e-9) if high else 0.01
        low, high = (low, high + room) if zero else (low - room, high + room)
    step = _round_step((high - low) / parts)
    return Scale(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step)


def decades(values: Sequence[float]) -> Scale:
    """A logarithmic scale over positive `values`, from one power of ten to another."""
    first = math.floor(math.log10(min(values)))
    last = max(first + 1, math.ceil(math.log10(max(values))))
    return Scale(10.0**first, 10.0**last, 1.0, log=True)


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * (1 - 1e-9))
