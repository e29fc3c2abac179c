"""Numbers, groups and classes as people read them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from fairgear.auditing.names import Names
from fairgear.graph.targets import Target
from fairgear.metrics import Interval

UNDEFINED = "undefined"
# What a graph without words calls its attribute.
_NAMELESS = ("", "s", "sens")
_NUMBER = re.compile(r"[-+−]?\d+([.,]\d+)*")
_WORD = re.compile(r"[^\W\d_][\w ,-]*")


def measure(value: float | None) -> str:
    """A metric's value, three decimals; more where three would hide that it is not zero.

    Below a millionth it counts as zero: bounds near zero often are. From a thousand on, which only
    numbers in units of their own are, there are none.
    """
    if value is None or not math.isfinite(value):
        return UNDEFINED
    if abs(value) >= 1000:
        return _minus(f"{value:,.0f}")
    return _minus(f"{value:.1g}" if 1e-6 <= abs(value) < 0.0005 else f"{value:.3f}")


def percent(value: float | None) -> str:
    """A share in hundredths; nobody and everybody, exactly, without decimals."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    hundredths = 100 * value
    digits = 0 if value in (0, 1) else 1 if abs(hundredths) >= 0.05 else 2
    return _minus(f"{hundredths:.{digits}f} %")


def between(ends: Interval, written: Callable[[float], str] = measure) -> str:
    """An interval of a metric or, with `percent`, of a share."""
    return f"{written(ends.low)} to {written(ends.high)}" if ends.defined else "interval undefined"


def between_shares(ends: Interval) -> str:
    """An interval of a share."""
    return between(ends, percent)


def place(share: float) -> float:
    """Where a share lies on a scale from nobody to everybody, in hundredths."""
    # Rounded so that the page is the same on every machine.
    return round(100 * min(1.0, max(0.0, share)), 2)


def span(ends: Interval) -> float:
    """How long an interval of a share is on that scale."""
    return round(place(ends.high) - place(ends.low), 2)


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return f"+{measure(value)}" if value is not None and value > 0 else measure(value)


def plain(value: object) -> str:
    """Any setting or figure: whole numbers with commas, others to four digits."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _minus(f"{value:,}")
    if isinstance(value, float):
        if abs(value) >= 1000 and math.isfinite(value):
            return _minus(f"{value:,.0f}")
        return _minus(f"{value:.4g}") if math.isfinite(value) else UNDEFINED
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or "none"
    return str(value)


def count(value: float | None) -> str:
    """A number of people or links."""
    return UNDEFINED if value is None or not math.isfinite(value) else f"{value:,.0f}"


def seconds(value: float) -> str:
    """A duration."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def megabytes(value: float) -> str:
    """An amount of memory."""
    if not math.isfinite(value):
        return UNDEFINED
    return f"{value / 1024:.1f} GB" if value >= 1024 else f"{value:.0f} MB"


def level_of(level: float) -> str:
    """How often intervals cover, in hundredths: "95"."""
    return f"{100 * level:g}"


def group_name(group: int, names: Names) -> str:
    """A group by its number and, where the data have one, its name; "age 18 to 27" of a number."""
    known = _name(group, names.groups)
    if names.number:
        return f"{names.number} {known}"
    return f"group {group}" if known is None else f"group {group}, {known}"


def attribute(value: float, names: Names, guessed: bool = False) -> str:
    """A person's group in the words of the data, or their number; said where it is a guess."""
    if guessed:
        return f"unknown, taken as {attribute(value, names)}"
    if names.number:
        return plain(value)
    known = _name(int(value), names.groups)
    return f"group {int(value)}" if known is None else known


def class_name(value: float | None, names: Names) -> str:
    """A class or an answer in the words of the data, or a number; unknown if −1 or none."""
    if value is None or value != value or (value == -1 and isinstance(value, int)):
        return "unknown"
    if isinstance(value, float):
        return plain(value)
    known = _name(value, names.classes)
    return str(value) if known is None else known


def ways(target: Target, names: Names) -> tuple[str, str]:
    """What gains and losses are called: of two classes, or of several and of numbers."""
    if not target.is_binary:
        return "upwards", "downwards"
    no, yes = names.classes if len(names.classes) == 2 else ("0", "1")
    return f"{no} to {yes}", f"{yes} to {no}"


def attribute_name(names: Names) -> str:
    """The sensitive attribute in the words of the data."""
    name = names.attribute or names.number
    if name in _NAMELESS:
        return "the sensitive attribute"
    first, _, last = name.rpartition(", ")
    name = f"{first} and {last}" if first else name
    return name if _WORD.fullmatch(name) else f"“{name}”"


def own_attribute(names: Names, whose: str) -> str:
    """The same of somebody: "a person's own sex"."""
    return f"{whose} {attribute_name(names).removeprefix('the ')}"


def group_words(group: int, names: Names) -> str:
    """A group in the words of the data alone, or a range of a number."""
    known = _name(group, names.groups)
    if names.number:
        return f"{names.number} {known}"
    if 0 <= group < len(names.cells):
        cell = zip(names.attributes, names.cells[group], strict=True)
        return ", ".join(_worded(one.values[code], one.name) for one, code in cell)
    attribute = attribute_name(names).removeprefix("the ")
    return f"{attribute} {group}" if known is None else _worded(known, attribute)


def _worded(value: str, attribute: str) -> str:
    """A value of an attribute; a number alone says nothing without its name."""
    return f"{attribute} {value}" if _NUMBER.fullmatch(value) else value


def answer_words(label: int, names: Names) -> str:
    """An answer of a model of two classes in the words of the data."""
    known = names.classes[label] if len(names.classes) == 2 else str(label)
    return f"“{names.label}: {known}”" if names.label else f"“{known}”"


def _name(value: int, known: Sequence[str]) -> str | None:
    return known[value] if 0 <= value < len(known) else None


def _minus(text: str) -> str:
    return text.replace("-", "−") if text.startswith("-") else text
