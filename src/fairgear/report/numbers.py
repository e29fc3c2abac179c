"""Numbers as people read them."""

from __future__ import annotations

from fairgear.report.parts import Part, finite, mapping, number

UNDEFINED = "undefined"


def measure(value: float | None) -> str:
    """A metric's value, three decimals; more where three would hide that it is not zero.

    Below a millionth nobody could tell it from zero, and bounds near zero often are.
    """
    if value is None:
        return UNDEFINED
    return _minus(f"{value:.1g}" if 1e-6 <= abs(value) < 0.0005 else f"{value:.3f}")


def percent(value: float | None) -> str:
    """A share in hundredths."""
    if value is None:
        return UNDEFINED
    hundredths = 100 * value
    digits = 1 if value == 0 or abs(hundredths) >= 0.05 else 2
    return _minus(f"{hundredths:.{digits}f} %")


def between(ends: tuple[float, float] | None) -> str:
    """An interval of a metric."""
    return "interval undefined" if ends is None else f"{measure(ends[0])} to {measure(ends[1])}"


def percents_between(ends: tuple[float, float] | None) -> str:
    """An interval of a share."""
    return "interval undefined" if ends is None else f"{percent(ends[0])} to {percent(ends[1])}"


def signed(value: float | None) -> str:
    """A difference, which says which way it goes."""
    return f"+{measure(value)}" if value is not None and value > 0 else measure(value)


def stated_level(part: Part) -> str:
    """How often the intervals of a run or an audit cover, in hundredths: "95"."""
    level = number(mapping(part, "config"), "level")
    return f"{100 * (0.95 if level is None else level):g}"


def plain(value: object) -> str:
    """Any setting or figure: whole numbers with commas, others to four digits."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _minus(f"{value:,}")
    if isinstance(value, float):
        exact = finite(value)
        return UNDEFINED if exact is None else _minus(f"{exact:.4g}")
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value) or "none"
    return str(value)


def count(value: object) -> str:
    """A number of people or links; undefined where it is not known."""
    exact = finite(value)
    return UNDEFINED if exact is None else f"{exact:,.0f}"


def seconds(value: float | None) -> str:
    """A duration."""
    if value is None:
        return UNDEFINED
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def megabytes(value: float | None) -> str:
    """An amount of memory."""
    if value is None:
        return UNDEFINED
    return f"{value / 1024:.1f} GB" if value >= 1024 else f"{value:.0f} MB"


def _minus(text: str) -> str:
    return text.replace("-", "−") if text.startswith("-") else text
