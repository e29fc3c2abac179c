"""The tables of New York City's Local Law 144: categories, their rates and impact ratios.

The law's bias audit is described in 6 RCNY § 5-301: for tools that select, the share of each
category that is selected; for tools that score, the share above the median score of the full
sample; and each rate divided by the highest. By each attribute and by all of them crossed. A
category with less than 2 % of the data may be left out of the impact ratios, with a reason, its
count and its rate. People of unknown category are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.auditing.groups import SMALL_SHARE
from fairgear.errors import ParameterError
from fairgear.graph.targets import Target

if TYPE_CHECKING:
    from fairgear.auditing.names import Names

UNKNOWN_CATEGORY = "unknown"
_COLUMNS = (
    *("categories", "category", "answer", "applicants", "share"),
    *("selected", "selection_rate", "impact_ratio"),
    *("above_median", "scoring_rate", "scoring_impact_ratio", "excluded"),
)


def ll144_table(people: pd.DataFrame, names: Names, target: Target) -> pd.DataFrame:
    """The tables, one below the other; see `Audit.ll144`.

    Selected are those with answer 1 and, where there are several answers, those with each.
    """
    if names.number:
        got = f"the number {names.number!r} as sensitive attribute"
        step = f'make groups of it, such as --sensitive "{names.number}<40", or name other columns'
        raise ParameterError("the tables of Local Law 144", got, "categories", step)
    if people.empty:
        got, step = "an audit without its people", "load the audit with people"
        raise ParameterError("the tables of Local Law 144", got, "the table of people", step)
    rows = [
        row
        for answer, selected in _answers(people, names, target)
        for title, codes, categories in _attributes(people, names)
        for row in _rows(title, codes, categories, answer, selected, _above(people, target))
    ]
    found = pd.DataFrame(rows, columns=list(_COLUMNS))
    return found.astype({"selected": "Int64", "above_median": "Int64"})


def _answers(
    people: pd.DataFrame, names: Names, target: Target
) -> Iterator[tuple[str, NDArray[np.bool_] | None]]:
    """Each answer that counts as being selected, and who gets it; nothing of numbers."""
    labels = people["label"].to_numpy()
    if target.is_number:
        yield "", None
        return
    classes = names.classes or target.classes
    for number in (1,) if target.is_binary else range(len(classes)):
        yield classes[number], labels == number


def _above(people: pd.DataFrame, target: Target) -> NDArray[np.bool_] | None:
    """Whose score is above the median of everybody; None where each answer has its own score."""
    if not (target.is_binary or target.is_number):
        return None
    scores = people["score"].to_numpy()
    return np.asarray(scores > np.median(scores))


def _attributes(
    people: pd.DataFrame, names: Names
) -> Iterator[tuple[str, NDArray[np.int64], tuple[str, ...]]]:
    """Title, everybody's category (−1 where unknown) and what the categories are called."""
    group = people["sens"].to_numpy(dtype=np.int64)
    known = np.ones(len(group), dtype=np.bool_)
    if "sens_known" in people:
        known = people["sens_known"].to_numpy(dtype=np.bool_)
    if names.attributes:
        codes = np.array(names.cells, dtype=np.int64)[group]
        for place, of in enumerate(names.attributes):
            column = f"sens_known_{place + 1}"
            told = people[column].to_numpy(dtype=np.bool_) if column in people else known
            yield of.name, np.where(told, codes[:, place], -1), of.values
    count = max(int(group.max()) + 1, len(names.groups))
    called = (*names.groups, *(f"group {one}" for one in range(len(names.groups), count)))
    yield names.attribute or "sensitive attribute", np.where(known, group, -1), called


def _rows(
    title: str,
    codes: NDArray[np.int64],
    categories: tuple[str, ...],
    answer: str,
    selected: NDArray[np.bool_] | None,
    above: NDArray[np.bool_] | None,
) -> list[tuple[Any, ...]]:
    """A table of some categories: those of whom there is somebody, and the unknown."""
    present = [code for code in range(len(categories)) if (codes == code).any()]
    count = np.array([(codes == code).sum() for code in present])
    share = count / max(count.sum(), 1)
    small = share < SMALL_SHARE
    parts = []
    for hits in (selected, above):
        if hits is None:
            parts.append([(math.nan,) * 3] * len(present))
            continue
        numbers = np.array([hits[codes == code].sum() for code in present])
        rates = numbers / count
        highest = max(rates[~small], default=0.0)
        ratios = np.where(small | (highest == 0), math.nan, rates / (highest or 1.0))
        parts.append(list(zip(numbers.tolist(), rates.tolist(), ratios.tolist(), strict=True)))
    rows = [
        (
            *(title, categories[code], answer, int(count[at]), float(share[at])),
            *parts[0][at],
            *parts[1][at],
            _reason(float(share[at])) if small[at] else "",
        )
        for at, code in enumerate(present)
    ]
    unknown = int((codes < 0).sum())
    why = "unknown category: not included in the rates" if unknown else ""
    return [
        *rows,
        (title, UNKNOWN_CATEGORY, answer, unknown, math.nan, *(math.nan,) * 6, why),
    ]


def _reason(share: float) -> str:
    limit = 100 * SMALL_SHARE
    # With as many decimals as show that it is less.
    shown = [f"{100 * share:.{decimals}f}" for decimals in range(1, 12)]
    text = next((text for text in shown if float(text) < limit), shown[-1])
    return (
        f"{text} % of the people of known category, less than {limit:g} %: too few for a reliable "
        "impact ratio"
    )
