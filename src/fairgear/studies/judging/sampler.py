"""The sampler: which settings a search tries next, by Optuna's TPE from the trials so far.

A suggestion follows from words and trials alone, so an interrupted search goes on as if it had
not been; nothing of Optuna's is stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from fairgear.errors import ParameterError
from fairgear.studies.judging.plan import Dimension

# Trials before the sampler learns from earlier ones, as Optuna has it.
STARTUP = 10
MAXIMIZE, MINIMIZE = "maximize", "minimize"
# Settings of a trial, and what was found: one figure for each direction.
Found = tuple[Mapping[str, Any], Sequence[float]]


def suggest(
    space: Sequence[Dimension],
    words: Sequence[Any],
    trials: Sequence[Found],
    *,
    directions: Sequence[str] = (MAXIMIZE,),
    startup: int = STARTUP,
) -> dict[str, Any]:
    """The settings of the next trial.

    Args:
        space: what is searched.
        words: what the seed is made from; other words give other settings.
        trials: the earlier ones.
        directions: of the figures of a trial.
        startup: trials before the sampler learns from earlier ones.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    spaces = {one.name: _distribution(one) for one in space}
    seed = int.from_bytes(hashlib.sha256(json.dumps(words).encode()).digest()[:4], "big")
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=startup)
    study = optuna.create_study(directions=list(directions), sampler=sampler)
    for settings, values in trials:
        known = optuna.trial.create_trial(
            params=dict(settings), distributions=spaces, values=list(values)
        )
        study.add_trial(known)
    params = study.ask(spaces).params
    return {one.name: params[one.name] for one in space}


def check_optuna(command: str) -> None:
    """Refuse a command that needs Optuna where it is not installed."""
    if find_spec("optuna") is None:
        raise ParameterError(
            command,
            "no installed package 'optuna'",
            "with that package",
            "run pip install 'fairgear[tune]'",
        )


def _distribution(one: Dimension) -> Any:
    import optuna

    if one.choices:
        return optuna.distributions.CategoricalDistribution(one.choices)
    low, high = one.ends()
    if one.whole:
        return optuna.distributions.IntDistribution(low, high, log=one.log)
    return optuna.distributions.FloatDistribution(low, high, log=one.log)
