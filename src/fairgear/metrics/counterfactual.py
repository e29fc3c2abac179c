"""How many predictions change when the sensitive attribute of people is changed.

Every measure takes predictions that were already made, on the factual graph and on its
counterfactual worlds, so any model can be measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.metrics.disagreement import Disagreement
from fairgear.metrics.inputs import Floats, Values, as_labels, as_vector, same_length
from fairgear.metrics.intervals import draws_error

TWO_CLASSES = Disagreement()
# One world's predictions, or several draws of it: shape (n,), (draws, n), or a list of vectors.
Draws = Values | Sequence[Values]


@dataclass(frozen=True)
class Flips:
    """Predicted labels that differ between two worlds, as shares of all people.

    Attributes:
        rate: share of labels that flip, mean over the draws.
        gains: share that goes from 0 to 1, or to a higher number; NaN for several classes, which
            have no order.
        losses: share that goes from 1 to 0, or lower; gains and losses add up to the rate.
        draws: the rate of each draw.
        error: Monte Carlo standard error of `rate` over the draws, NaN with a single one: how
            much the choice of draws matters, not how much the choice of people does.
        by_node: share of the draws in which each person flips; `rate_interval` takes it.

    Example:
        >>> from fairgear.metrics import flips
        >>> found = flips([0, 1, 1, 0], [1, 1, 0, 0])
        >>> found.rate, found.gains, found.losses
        (0.5, 0.25, 0.25)
    """

    rate: float
    gains: float
    losses: float
    draws: tuple[float, ...]
    error: float
    by_node: Floats = field(repr=False)


@dataclass(frozen=True)
class AverageFlips:
    """δCF: flip rates averaged over several worlds or pairs of worlds.

    Attributes:
        rate: the mean of the rates; each world counts once, however many draws it has.
        by_world: the flips of each.
        error: Monte Carlo standard error of `rate`. A world with one draw adds nothing to it
            (at r = 0 and r = 1 there is only one); NaN if no world has several.
        by_node: mean over the worlds of each person's share of flips; `rate_interval` takes it.

    Example:
        >>> from fairgear.metrics import over_rates
        >>> average = over_rates([0, 1, 1, 0], {0.0: [0, 1, 0, 0], 1.0: [1, 1, 1, 1]})
        >>> average.rate, average.by_world[1.0].rate
        (0.375, 0.5)
        >>> average.by_node.tolist()
        [0.5, 0.0, 0.5, 0.5]
    """

    rate: float
    by_world: Mapping[Any, Flips]
    error: float
    by_node: Floats = field(repr=False)


def flips(factual: Values, counterfactual: Draws, how: Disagreement = TWO_CLASSES) -> Flips:
    """Flips between the factual world and one or several draws of a counterfactual one.

    `how` says which answers differ, where they are not of two classes.

    Example:
        >>> from fairgear.metrics import flips
        >>> found = flips([0, 1, 1, 0], [[0, 1, 0, 0], [1, 1, 0, 0]])
        >>> found.rate, found.draws
        (0.375, (0.25, 0.5))
        >>> found.by_node.tolist()
        [0.5, 0.0, 1.0, 0.0]
    """
    first = _answers("factual", factual, how)
    return _flips(first[None, :], _label_draws("counterfactual", counterfactual, how), how)


def over_rates(
    factual: Values, worlds: Mapping[float, Draws], how: Disagreement = TWO_CLASSES
) -> AverageFlips:
    """δCF of whole-graph interventions: the mean over the rates r of the flips at each.

    `worlds` has, for each rate r of people set to 1, the predicted labels of one or several draws.

    Example:
        >>> from fairgear.metrics import over_rates
        >>> average = over_rates([0, 1, 1, 0], {0.0: [0, 1, 0, 0], 1.0: [1, 1, 1, 1]})
        >>> average.rate
        0.375
    """
    _at_least(1, worlds)
    by_rate = {rate: flips(factual, draws, how) for rate, draws in worlds.items()}
    errors = [one.error for one in by_rate.values() if len(one.draws) > 1]
    # Worlds of different rates are drawn independently, so their variances add.
    error = math.sqrt(sum(e * e for e in errors)) / len(by_rate) if errors else math.nan
    return _average(by_rate, error)


def between_worlds(worlds: Mapping[Any, Draws], how: Disagreement = TWO_CLASSES) -> AverageFlips:
    """δCF as the paper defines it: flips between two counterfactual worlds, mean over all pairs.

    Two worlds with equally many draws are matched draw by draw; a single draw is matched with
    each of the other world's.

    Example:
        >>> from fairgear.metrics import between_worlds
        >>> worlds = {0.0: [0, 1, 0, 0], 0.5: [0, 1, 1, 0], 1.0: [1, 1, 1, 0]}
        >>> average = between_worlds(worlds)
        >>> {pair: found.rate for pair, found in average.by_world.items()}
        {(0.0, 0.5): 0.25, (0.0, 1.0): 0.5, (0.5, 1.0): 0.25}
        >>> round(average.rate, 3)
        0.333
    """
    _at_least(2, worlds)
    drawn = {key: _label_draws(f"world {key}", draws, how) for key, draws in worlds.items()}
    by_pair = {(a, b): _flips(drawn[a], drawn[b], how) for a, b in combinations(drawn, 2)}
    # Pairs share worlds, so the error is that of whole draws; single draws stay the same.
    rates = np.broadcast_arrays(*(np.array(one.draws) for one in by_pair.values()))
    return _average(by_pair, draws_error(np.mean(rates, axis=0)))


def _flips(first: NDArray[Any], second: NDArray[Any], how: Disagreement) -> Flips:
    same_length(factual=first[0], counterfactual=second[0])
    if len(first) != len(second) and 1 not in (len(first), len(second)):
        got, allowed = f"{len(first)} and {len(second)}", "equally many, or one of either"
        step = "draw both worlds with the same seeds"
        raise ParameterError("draws of two worlds", got, allowed, step)
    change = how.changes(first, second)
    flipped = change != 0
    rates = flipped.mean(axis=1)
    return Flips(
        rate=float(rates.mean()),
        gains=float((change > 0).mean()) if how.ordered else math.nan,
        losses=float((change < 0).mean()) if how.ordered else math.nan,
        draws=tuple(float(rate) for rate in rates),
        error=draws_error(rates),
        by_node=flipped.mean(axis=0),
    )


def _average(by_world: Mapping[Any, Flips], error: float) -> AverageFlips:
    every = list(by_world.values())
    return AverageFlips(
        rate=float(np.mean([one.rate for one in every])),
        by_world=dict(by_world),
        error=error,
        by_node=np.mean([one.by_node for one in every], axis=0),
    )


def _answers(name: str, values: Values, how: Disagreement) -> NDArray[Any]:
    """Answers as they are compared: 0 and 1, class numbers, or numbers."""
    return as_labels(name, values) if how.target.is_binary else as_vector(name, values)


def _label_draws(name: str, draws: Draws, how: Disagreement) -> NDArray[Any]:
    rows = [_answers(name, row, how) for row in _rows(name, draws)]
    for row in rows[1:]:
        same_length(**{f"first draw of {name}": rows[0], "another": row})
    return np.stack(rows)


def _rows(name: str, draws: Draws) -> list[Values]:
    """The draws as a list of vectors; a single vector is a single draw."""
    if isinstance(draws, Tensor | np.ndarray):
        single = draws.ndim == 1
    else:
        single = len(draws) > 0 and isinstance(draws[0], int | float | np.number | np.bool_)
    rows: list[Any] = [draws] if single else list(draws)
    if not rows:
        raise ParameterError(name, "no draws", "at least one", "pass predictions")
    return rows


def _at_least(least: int, worlds: Mapping[Any, Draws]) -> None:
    if len(worlds) < least:
        raise ParameterError("worlds", len(worlds), f"at least {least}", "pass more worlds")
