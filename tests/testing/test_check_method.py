"""`check_method`: each fault is found by its own check, and every check can fail."""

from __future__ import annotations

import re

import pytest
import torch

from fairgear.errors import ParameterError
from fairgear.testing import CONTRACT, ContractError, Trial, check_method, toy_graph, toy_world
from tests.testing.broken import BREAKS
from tests.testing.small import Small


def test_a_good_method_passes_as_a_class_and_as_a_function() -> None:
    assert check_method(Small, settings={"hops": 2}) == tuple(CONTRACT)
    assert check_method(lambda seed: Small(seed=seed, device="cpu")) == tuple(CONTRACT)


@pytest.mark.parametrize("broken", BREAKS)
def test_each_fault_is_found_by_its_checks_and_no_others(broken: type[Small]) -> None:
    trial, found = Trial(broken), {}
    for name, check in CONTRACT.items():
        try:
            check(trial)
        except ContractError as error:
            found[name] = str(error)
    assert all(re.match(r"method 'small': got [^\n]+$", line) for line in found.values())
    assert set(found) == BREAKS[broken], found


def test_every_check_can_fail() -> None:
    assert set().union(*BREAKS.values()) == set(CONTRACT)


def test_a_method_declared_deterministic_must_be() -> None:
    with pytest.raises(ContractError, match="not random ignores the seed"):
        CONTRACT["seeds"](Trial(Small, random=False))


def test_the_suite_stops_at_a_broken_promise() -> None:
    broken = next(kind for kind, checks in BREAKS.items() if checks == {"rows"})
    with pytest.raises(ContractError, match=r"^method 'small': got [^\n]*rows of the full answer"):
        check_method(broken)


def test_settings_are_for_classes() -> None:
    with pytest.raises(ParameterError, match="settings with a class only"):
        check_method(lambda seed: Small(seed=seed), settings={"hops": 2})


def test_the_toy_graph_is_as_documented() -> None:
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
