"""Condition: what must not hold of a model, such as `delta_cf > 0.05`."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fairgear.auditing.sensitivity import Dose
from fairgear.errors import ParameterError
from fairgear.metrics import EVERY_METRIC, UNDEFINED, Interval, Metric
from fairgear.registry import Registry

_COMPARISONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_ENDS = ("low", "high")
_FORM = re.compile(r"\s*([^\s<>=.]+)(?:\.([^\s<>=]*))?\s*(>=|<=|>|<)\s*([^\s<>=]+)\s*")


@dataclass(frozen=True)
class Condition:
    """A comparison of a measure, or of an end of its interval, with a number.

    Attributes:
        metric: by its name in `fairgear.metrics.EVERY_METRIC`.
        end: "low" or "high" for that end of the interval; None for the value.
        comparison: ">", ">=", "<" or "<=".
        number: what it is compared with.

    Example:
        >>> from fairgear.auditing import Condition
        >>> condition = Condition.parse("delta_cf.high > 0.05")
        >>> condition.metric, condition.end, condition.number
        ('delta_cf', 'high', 0.05)
    """

    metric: str
    end: str | None
    comparison: str
    number: float

    @classmethod
    def parse(cls, text: str, known: Registry[Metric] = EVERY_METRIC) -> Condition:
        """Read `METRIC[.low|.high] OP NUMBER`, such as "delta_cf.high > 0.05".

        Args:
            text: the condition.
            known: the metrics that it may name.
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise _refused(text, known, "write it as 'delta_cf > 0.05'")
        metric, end, comparison, digits = found.groups()
        if metric not in known:
            near = difflib.get_close_matches(metric, known, n=1)
            raise _refused(text, known, f"did you mean {near[0]!r}" if near else "choose a metric")
        if end is not None and end not in _ENDS:
            raise _refused(text, known, f"write {metric}.low or {metric}.high")
        low, high = known[metric].low, known[metric].high
        try:
            number = float(digits)
        except ValueError:
            raise _refused(text, known, f"compare {metric} with a number") from None
        # A number out of range, such as a percentage, would let everything pass.
        if not low <= number <= high:
            allowed = f"{low:g} to {high:g}, the range of {metric}"
            raise ParameterError(f"condition {text!r}", digits, allowed, "write 5 % as 0.05")
        return cls(metric, end, comparison, number)

    @classmethod
    def breaking(cls, metric: str, bound: float, end: str | None = None) -> Condition:
        """That a metric is on the worse side of a bound: above it where lower is better.

        Args:
            metric: by its name in `fairgear.metrics.EVERY_METRIC`.
            bound: the worst that is allowed.
            end: None for the value; "worse" or "better" for that end of the interval.
        """
        higher = EVERY_METRIC[metric].direction == "higher"
        part = {None: "", "worse": ".low" if higher else ".high"}
        part["better"] = ".high" if higher else ".low"
        return cls.parse(f"{metric}{part[end]} {'<' if higher else '>'} {bound!r}")

    def __str__(self) -> str:
        return f"{self.subject} {self.bound}"

    @property
    def subject(self) -> str:
        """What is compared: the metric, or an end of its interval."""
        return self.metric if self.end is None else f"{self.metric}.{self.end}"

    @property
    def bound(self) -> str:
        """What it is compared with, as "> 0.05"."""
        return f"{self.comparison} {self.number:.12g}"

    def failure(
        self, metrics: Mapping[str, float], intervals: Mapping[str, Interval]
    ) -> str | None:
        """A sentence where the comparison is true; None where the model passes.

        An undefined measure fails too: what was not measured was not shown to be within bounds.
        """
        value = self._value(metrics, intervals)
        if math.isnan(value):
            return f"{self.subject} is undefined: it cannot be shown not to be {self.bound}."
        if not _COMPARISONS[self.comparison](value, self.number):
            return None
        return f"{self.measured(metrics, intervals)}, which is {self.bound}."

    def measured(self, metrics: Mapping[str, float], intervals: Mapping[str, Interval]) -> str:
        """What was measured, without a full stop: "delta_cf is 0.03 (interval 0.02 to 0.05)"."""
        value = self._value(metrics, intervals)
        if math.isnan(value):
            return f"{self.subject} is undefined"
        ends = intervals.get(self.metric, UNDEFINED)
        between = f"interval {ends.low:.4g} to {ends.high:.4g}" if ends.defined else "no interval"
        # As many digits as distinguish it from the number that it is compared with.
        short = f"{value:.4g}"
        shown = short if value == self.number or float(short) != self.number else repr(value)
        return f"{self.subject} is {shown} ({between})"

    def _value(self, metrics: Mapping[str, float], intervals: Mapping[str, Interval]) -> float:
        """What is compared; NaN where it is undefined."""
        if self.end is None:
            return metrics.get(self.metric, math.nan)
        ends = intervals.get(self.metric, UNDEFINED)
        return ends.low if self.end == "low" else ends.high

    def turning_point(self, dose: Dose) -> str | None:
        """From which dose an upper bound on δCF is exceeded; None of other conditions."""
        upper = self.metric == "delta_cf" and self.end is None
        if not upper or not self.comparison.startswith(">"):
            return None
        share = dose.crossing(self.number)
        if share is None:
            when = "at no dose: not even if the attribute caused all of"
        elif share == 0:
            when = "at every dose: even if the attribute caused nothing of"
        else:
            when = f"if the attribute caused more than {share:.0%} of"
        return f"δCF is {self.bound} {when} the difference between the groups."


def _refused(text: str, known: Registry[Metric], next_step: str) -> ParameterError:
    allowed = (
        f"METRIC > NUMBER, METRIC one of {', '.join(known)}, or METRIC.low or METRIC.high for "
        f"an end of its interval, and one of {', '.join(_COMPARISONS)}"
    )
    return ParameterError("a condition", repr(text), allowed, next_step)
