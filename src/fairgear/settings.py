"""Settings: frozen dataclasses whose annotations say what is allowed. Imports no torch.

@dataclass(frozen=True)
class MySettings(Config):
    layers: Annotated[int, Range(1, 16)] = 2
    encoder: Annotated[str, OneOf("gcn", "gin")] = "gcn"
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Annotated, Any, NamedTuple, Self, get_args, get_origin, get_type_hints

from fairgear.errors import ParameterError

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}
_WORDS |= {dict: "a mapping"}


class Range(NamedTuple):
    """A number between two ends, both allowed."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        if isinstance(value, float):
            return math.isfinite(value) and self.low <= value <= self.high
        # An int may be too long for a float; it is finite all the same.
        return isinstance(value, int) and self.low <= value <= self.high


class OneOf(tuple[str, ...]):
    """One of several names."""

    def __new__(cls, *names: str) -> Self:  # noqa: D102
        return super().__new__(cls, names)


SEED = Range(0, 2**63 - 1)


def check_seed(name: str, seed: int) -> int:
    """`seed` if it is one; numpy and torch disagree on what else they accept."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed not in SEED:
        raise ParameterError(name, repr(seed), "a whole number from 0 on", f"change {name}")
    return seed


@dataclass(frozen=True)
class Setting:
    """What a field of a `Config` accepts.

    Attributes:
        kind: its type; `optional` says whether None is accepted too.
        limit: the values allowed, where not all of that type are.
        words: names that are accepted in place of a number.
    """

    kind: type
    optional: bool
    limit: Range | OneOf | None
    words: OneOf | None = None

    def accepts(self, value: object) -> bool:
        """Whether the field may have this value; an int is accepted for a float."""
        if value is None:
            return self.optional
        if isinstance(value, bool) and self.kind is not bool:
            return False
        if self.words is not None and isinstance(value, str):
            return value in self.words
        fits = isinstance(value, self.kind) or (self.kind is float and isinstance(value, int))
        return fits and (self.limit is None or value in self.limit)

    def allowed(self) -> str:
        """What the field accepts, in words."""
        words = _WORDS.get(self.kind, f"the fields of {self.kind.__name__}")
        if isinstance(self.limit, OneOf):
            words = ", ".join(self.limit)
        elif self.limit is not None:
            words += f" from {self.limit.low} to {self.limit.high}"
        if self.words is not None:
            words = f"{', '.join(self.words)} or {words}"
        return words + (" or none" if self.optional else "")


@dataclass(frozen=True)
class Config:
    """Base of all settings: checks every field when it is built."""

    def __post_init__(self) -> None:
        for name, setting in settings_of(type(self)).items():
            value = getattr(self, name)
            if not setting.accepts(value):
                raise ParameterError(
                    f"setting {name}", repr(value), setting.allowed(), f"change {name}"
                )

    def to_dict(self) -> dict[str, Any]:
        """As nested plain values, for JSON and YAML."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From nested plain values; an unknown key is refused."""
        if not isinstance(values, Mapping):
            got, allowed = f"a {type(values).__name__}", "a mapping from names to values"
            raise ParameterError(f"settings of {cls.__name__}", got, allowed, "correct them")
        known = settings_of(cls)
        unknown = [key for key in values if key not in known]
        if unknown:
            raise ParameterError(
                f"settings of {cls.__name__}",
                f"the unknown key {unknown[0]!r}",
                ", ".join(known),
                "correct or drop that key",
            )
        built: dict[str, Any] = {}
        for key, value in values.items():
            kind = known[key].kind
            if isinstance(value, Mapping) and issubclass(kind, Config):
                value = kind.from_dict(value)
            built[key] = value
        return cls(**built)


def settings_of(config: type[Config]) -> dict[str, Setting]:
    """What each field of a `Config` accepts, by its name."""
    key: Any = config
    return _settings_of(key)


@cache
def _settings_of(config: Any) -> dict[str, Setting]:
    # Reading annotations takes a millisecond, and studies build thousands of settings.
    hints = get_type_hints(config, include_extras=True)
    return {item.name: _setting(hints[item.name]) for item in fields(config)}


def _setting(hint: Any) -> Setting:
    limits: list[Range | OneOf] = []
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        limits = [one for one in extras if isinstance(one, Range | OneOf)]
    union = set(get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    optional = type(None) in union
    # A number or a word: the range is that of the number.
    worded = str in union and len(limits) == 2
    (hint,) = union - {type(None)} - ({str} if worded else set())
    limit = next((one for one in limits if not worded or isinstance(one, Range)), None)
    words = next((one for one in limits if worded and isinstance(one, OneOf)), None)
    return Setting(get_origin(hint) or hint, optional, limit, words)
