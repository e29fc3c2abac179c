"""Every method keeps every promise, and every broken promise is noticed by its own check."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from fairgear.errors import ParameterError
from fairgear.methods import METHODS
from fairgear.methods.contract import (
    CONTRACT,
    ContractError,
    Trial,
    check_method,
    toy_graph,
    toy_world,
)
from tests.methods.broken import BREAKS
from tests.methods.small import Small

# Small enough for a test; a method that is not here is tried with its defaults.
NETWORK = {"dim": 16, "steps": 30, "validate_every": 10, "dropout": 0.1, "learning_rate": 0.03}
GENERATOR = {"steps": 10, "hidden": 8, "batch_size": 50}
SETTINGS: dict[str, dict[str, Any]] = {
    "gear": {**NETWORK, "k": 8, "generator": GENERATOR},
    "boosting": {"trees": 10},
    "gcn": NETWORK,
    "graphsage": NETWORK,
    "gin": NETWORK,
    "c-enc": NETWORK,
    "fairgnn": {**NETWORK, "estimator_steps": 10},
    "nifty-gcn": NETWORK,
    "nifty-sage": NETWORK,
}
# In which the seed plays no part.
SETTLED = ("logistic", "logistic-unaware", "logistic-residual", "logistic-projected", "boosting")


@pytest.fixture(scope="module")
def trials() -> dict[str, Trial]:
    """One for each method, so that what it has fitted serves all checks."""
    return {
        name: Trial(method, settings=SETTINGS.get(name), random=name not in SETTLED)
        for name, method in METHODS.items()
    }


@pytest.mark.parametrize("check", CONTRACT)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_every_promise(name: str, check: str, trials: dict[str, Trial]) -> None:
    CONTRACT[check](trials[name])


def test_a_good_method_passes_as_a_class_and_as_a_function() -> None:
    assert check_method(Small, settings={"hops": 2}) == tuple(CONTRACT)
    assert check_method(lambda seed: Small(seed=seed, device="cpu")) == tuple(CONTRACT)


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_promise_is_noticed_by_its_checks_and_by_no_other(broken: type[Small]) -> None:
    trial, noticed = Trial(broken), {}
    for name, check in CONTRACT.items():
        try:
            check(trial)
        except ContractError as error:
            noticed[name] = str(error)
    assert all(re.match(r"method 'small': got [^\n]+$", line) for line in noticed.values())
    assert set(noticed) == BREAKS[broken], noticed


def test_every_check_has_somebody_who_fails_it() -> None:
    assert set().union(*BREAKS.values()) == set(CONTRACT)


def test_a_method_that_is_said_to_be_settled_must_be() -> None:
    with pytest.raises(ContractError, match="not random gives one model"):
        CONTRACT["seeds"](Trial(Small, random=False))


def test_a_broken_promise_ends_the_suite() -> None:
    broken = next(kind for kind, checks in BREAKS.items() if checks == {"rows"})
    with pytest.raises(ContractError, match=r"^method 'small': got [^\n]*rows of the full answer"):
        check_method(broken)


def test_settings_are_for_classes() -> None:
    with pytest.raises(ParameterError, match="settings with a class only"):
        check_method(lambda seed: Small(seed=seed), settings={"hops": 2})


def test_the_toy_graph_is_what_it_is_said_to_be() -> None:
    graph, world = toy_graph(), toy_world()
    assert toy_graph().fingerprint() == graph.fingerprint()
    known = graph.y >= 0
    signal = graph.x[:, 0]
    assert signal[graph.y == 1].min() > signal[graph.y == 0].max()
    # Neither the signal nor the label tells the group.
    for values in (signal[known], graph.y[known].float()):
        both = torch.stack([values, graph.sens[known].float()])
        assert abs(float(torch.corrcoef(both)[0, 1])) < 0.15
    assert not known[~(graph.train_mask | graph.val_mask | graph.test_mask)].any()
    assert int((~known).sum()) == 16
    assert torch.equal(world.sens, 1 - graph.sens)
    assert torch.equal(world.y, graph.y)
    assert 0 < world.num_undirected_edges < graph.num_undirected_edges
    moved = (world.x != graph.x).all(dim=0).tolist()
    assert moved == [False, False, True, True, False]
