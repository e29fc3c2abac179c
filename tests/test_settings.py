from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from fairgear.errors import ParameterError
from fairgear.settings import Config, OneOf, Range, settings_of


@dataclass(frozen=True)
class Worded(Config):
    """Settings of every kind."""

    number: Annotated[float | str, Range(0, 1), OneOf("labels", "none at all")] = "labels"
    whole: Annotated[int | str | None, OneOf("auto"), Range(1, 8)] = None
    name: Annotated[str, OneOf("one", "two")] = "one"
    plain: Annotated[float, Range(0, math.inf)] = 2.0
    maybe: Annotated[int | None, Range(1, 3)] = None
    free: str = "anything"
    switch: bool = True


def test_a_setting_is_a_number_a_word_or_both() -> None:
    found = settings_of(Worded)
    assert (found["number"].kind, found["number"].limit) == (float, Range(0, 1))
    assert found["number"].words == OneOf("labels", "none at all")
    whole = found["whole"]
    assert (whole.kind, whole.limit, whole.words) == (int, Range(1, 8), OneOf("auto"))
    assert whole.optional
    assert (found["name"].kind, found["name"].limit) == (str, OneOf("one", "two"))
    assert (found["free"].kind, found["free"].limit) == (str, None)
    assert (found["maybe"].kind, found["maybe"].optional) == (int, True)
    assert [name for name, one in found.items() if one.words] == ["number", "whole"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("number", [0, 0.0, 0.5, 1, "labels", "none at all"]),
        ("whole", [1, 8, "auto", None]),
        ("name", ["one", "two"]),
        ("maybe", [1, None]),
        ("free", ["", "labels"]),
    ],
)
def test_what_is_allowed_is_kept_as_it_is(name: str, values: list[Any]) -> None:
    for value in values:
        assert getattr(Worded.from_dict({name: value}), name) is value


@pytest.mark.parametrize(
    ("name", "values", "allowed"),
    [
        (
            "number",
            [-0.1, 1.5, math.nan, math.inf, "label", "0.5", "", None, True],
            "labels, none at all or a number from 0 to 1",
        ),
        ("whole", [0, 9, 2.5, "automatic", False], "auto or a whole number from 1 to 8 or none"),
        ("name", ["three", 1, None], "one, two"),
        ("plain", ["labels", -1, None], "a number from 0 to inf"),
        ("free", [3, None], "a name"),
    ],
)
def test_anything_else_is_refused_in_one_line(name: str, values: list[Any], allowed: str) -> None:
    for value in values:
        with pytest.raises(ParameterError) as caught:
            Worded.from_dict({name: value})
        expected = f"setting {name}: got {value!r}; allowed: {allowed}. Next: change {name}."
        assert str(caught.value) == expected


def test_settings_go_through_plain_values_and_back() -> None:
    for number in ("labels", 0.25):
        config = Worded(number=number, whole="auto", maybe=2)
        assert Worded.from_dict(config.to_dict()) == config
