"""`check_method`: each fault is found by its own check, and every check can fail."""

from __future__ import annotations

import re

import pytest
import torch

from fairgear.errors import ParameterError
from fairgear.testing import CONTRACT, ContractError, Trial, check_method, toy_graph, toy_world
from tests.testing.broken import BREAKS, OfAnyLinks, OfManyGroups
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


def test_methods_for_more_kinds_of_graphs_keep_their_promises_there() -> None:
    CONTRACT["other attributes"](Trial(OfManyGroups))
    CONTRACT["other links"](Trial(OfAnyLinks))


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


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("sens", ["categorical", "continuous"])
def test_toy_graphs_of_other_attributes_tell_the_label_and_move_with_s(
    sens: str, kind: str
) -> None:
    graph, world = toy_graph(kind, sens=sens), toy_world(kind, sens=sens)
    assert graph.continuous == (sens == "continuous")
    assert graph.sens_kind == sens
    plain = toy_graph(kind)
    assert torch.equal(graph.y.nan_to_num(), plain.y.nan_to_num())
    assert torch.equal(graph.x[:, 0], plain.x[:, 0])
    # The feature that depends on s moves with it, the others but s stay.
    depends = 3 if graph.sens_column == 2 else 2
    moved = (world.x - graph.x)[:, depends].double()
    change = (world.sens - graph.sens).double()
    assert float(torch.corrcoef(torch.stack([moved, change]))[0, 1]) > 0.999
    still = [column for column in range(graph.x.shape[1]) if column not in (2, depends)]
    assert torch.equal(world.x[:, still], graph.x[:, still])
    known = (graph.y.nan_to_num(-1) >= 0).numpy()
    signal, s = graph.x[known, 0].double(), graph.sens[known].double()
    assert abs(float(torch.corrcoef(torch.stack([signal, s]))[0, 1])) < 0.2


@pytest.mark.parametrize("links", ["directed", "weighted"])
def test_toy_graphs_have_the_links_that_were_asked_for(links: str) -> None:
    graph, world = toy_graph(links=links), toy_world(links=links)
    for each in (graph, world):
        assert each.directed == (links == "directed")
        assert (each.edge_weight is not None) == (links == "weighted")
    assert 0 < world.num_undirected_edges < graph.num_undirected_edges
    both = set(map(tuple, graph.edge_index.T.tolist()))
    lonely = [(a, b) for a, b in both if (b, a) not in both]
    assert (len(lonely) > 100) == (links == "directed")
