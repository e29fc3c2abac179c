"""Columns with two values, the label and the sensitive attribute, as 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import Value
from fairgear.graph.convert.spelling import in_order, listed, spelled


@dataclass(frozen=True, eq=False)
class TwoValues:
    """0 and 1 for each row, −1 where missing, and what they stood for."""

    codes: NDArray[np.int64]
    names: tuple[str, str]


def label_values(column: pd.Series, name: str, positive: Value | None) -> TwoValues:
    """The label: missing where unknown, no matter how often."""
    codes, found = _levels(column, name)
    if not found:
        return TwoValues(codes, ("0", "1"))
    if len(found) != 2:
        raise GraphError(
            f"label column {name!r}",
            f"{len(found)} values: {listed(found)}{_gaps(codes)}",
            "two values, and nothing where the label is unknown",
            "recode the label to two values, or name another column with --label",
        )
    return _coded(codes, found, positive, f"label column {name!r}", "--positive")


def sensitive_values(column: pd.Series, name: str, one: Value | None) -> TwoValues:
    """The sensitive attribute: two groups."""
    codes, found = _levels(column, name)
    if len(found) != 2:
        step = (
            "recode it to two groups, for instance one group against all others"
            if len(found) > 2
            else "name a column with two groups with --sensitive"
        )
        raise GraphError(
            f"sensitive column {name!r}",
            f"{len(found)} values: {listed(found)}{_gaps(codes)}" if found else "no value at all",
            "two values; only two groups are supported for now",
            step,
        )
    return _coded(codes, found, one, f"sensitive column {name!r}", "--sensitive-one")


def known_values(column: pd.Series, name: str, groups: tuple[str, str]) -> TwoValues:
    """The sensitive attribute with groups that are settled, both of which need not occur."""
    codes, found = _levels(column, name)
    strange = [value for value in found if value not in groups]
    if strange:
        raise GraphError(
            f"sensitive column {name!r}",
            f"{listed(strange)}, which the model was not trained on",
            listed(groups),
            "recode the column, or leave those rows out",
        )
    place = np.array([*(groups.index(value) for value in found), -1], dtype=np.int64)
    return TwoValues(place[codes], groups)


def _levels(column: pd.Series, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes into the ordered levels, −1 where missing."""
    try:
        codes, uniques = pd.factorize(column.astype(object))
    except TypeError as error:
        raise GraphError(
            f"column {name!r}",
            "lists or other compound values",
            "two values: numbers, text, or true and false",
            "name another column, or keep one value of each cell",
        ) from error
    texts = [spelled(value) for value in uniques]
    found = in_order(dict.fromkeys(texts))
    place = {text: number for number, text in enumerate(found)}
    return np.array([*(place[text] for text in texts), -1], dtype=np.int64)[codes], found


def _gaps(codes: NDArray[np.int64]) -> str:
    """What else there was: a word such as None may have been meant as a value."""
    count = int((codes < 0).sum())
    return f", and {count} missing (in text files NA, NULL, None and ? are)" if count else ""


def _coded(
    codes: NDArray[np.int64], found: list[str], one: Value | None, what: str, option: str
) -> TwoValues:
    if one is None or spelled(one) == found[1]:
        return TwoValues(codes, (found[0], found[1]))
    if spelled(one) != found[0]:
        raise GraphError(
            what, f"no value {spelled(one)!r}", listed(found), f"give one of these with {option}"
        )
    return TwoValues(np.where(codes < 0, codes, 1 - codes), (found[1], found[0]))
