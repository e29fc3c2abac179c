"""What a model looks at, by models of which it is known."""

from __future__ import annotations

import errno

import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Probes, Worlds, adapt, audit
from fairgear.auditing.people import select
from fairgear.auditing.probes import probe
from fairgear.auditing.records import from_json
from fairgear.errors import ParameterError
from fairgear.files import json_ready
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    LastDigit,
    NeedsEdges,
    NeighborSens,
    Noisy,
    small_graph,
)

BLIND = "It does not read the sensitive column"
NO_GRAPH = "It does not read the graph"
NOISE = "It gives different scores when it is run twice"


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(small_graph(120), draws=1)


def seen(worlds: Worlds, model: object) -> Probes:
    adapter = adapt(model)
    rows = select(worlds.graph, None)
    return probe(adapter, worlds, rows, adapter.predict(worlds.factual, rows))


class Degrees(FakeModel):
    """How many neighbours somebody has, whoever they are."""

    def score(self, graph: SensitiveGraph) -> Tensor:
        count = torch.bincount(graph.edge_index[0], minlength=len(graph.x))
        return count / (1 + count.max())


@pytest.mark.parametrize(
    ("model", "sens", "graph"),
    [
        (Constant(), False, False),
        (Features(), False, False),
        (CopiesSens(), True, False),
        (Degrees(), False, True),
        (NeighborSens(), True, True),
        (Everything(), True, True),
        (NeedsEdges(), False, True),
        (LastDigit(), False, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, FakeModel) else str(value),
)
def test_models_of_which_it_is_known(
    worlds: Worlds, model: FakeModel, sens: bool, graph: bool
) -> None:
    probes = seen(worlds, model)
    assert probes == Probes(sens=sens, graph=graph, repeats=True)
    said = [sentence.partition(":")[0] for sentence in probes.cautions()]
    assert said == [BLIND] * (not sens) + [NO_GRAPH] * (not graph)


def test_a_model_that_does_not_repeat_itself(worlds: Worlds) -> None:
    probes = seen(worlds, Noisy())
    assert probes.unstable
    assert probes.cautions()[-1].startswith(NOISE)
    found = audit(Noisy(), worlds, self_people=0, other_causal_models=False)
    assert found.notes[0].startswith(NOISE)


def test_an_estimator_without_the_column_is_blind_to_it(worlds: Worlds) -> None:
    x, y = worlds.graph.x.numpy(), worlds.graph.y.numpy()
    with_it = LogisticRegression().fit(x, y)
    assert with_it.coef_[0, 0] != 0
    assert seen(worlds, with_it).sens is True
    assert seen(worlds, LogisticRegression().fit(x[:, 1:], y)).sens is False


def test_one_group_is_enough_to_be_seen(worlds: Worlds) -> None:
    """A model that reads the attribute of one group alone: setting everybody to 1 shows it."""

    class OneSided(FakeModel):
        def score(self, graph: SensitiveGraph) -> Tensor:
            return 0.2 + 0.6 * (graph.sens.sum() == len(graph.sens)) * torch.ones(len(graph.x))

    assert seen(worlds, OneSided()).sens is True


def test_what_goes_wrong_elsewhere_is_an_error(worlds: Worlds) -> None:
    class NeedsGroups(FakeModel):
        def score(self, graph: SensitiveGraph) -> Tensor:
            if graph.sens.min() == graph.sens.max():
                raise ValueError("one group")
            return torch.full((len(graph.x),), 0.7)

    with pytest.raises(ParameterError, match="in the world 'attribute-only-rate-0-draw-0'"):
        seen(worlds, NeedsGroups())


def test_a_full_disk_is_no_answer(worlds: Worlds) -> None:
    class NeedsRoom(FakeModel):
        def score(self, graph: SensitiveGraph) -> Tensor:
            if not graph.edge_index.numel():
                raise OSError(errno.ENOSPC, "No space left on device")
            return torch.full((len(graph.x),), 0.7)

    with pytest.raises(ParameterError, match="No space left"):
        seen(worlds, NeedsRoom())


def test_what_could_not_be_asked_is_not_said() -> None:
    nothing = Probes(sens=None, graph=None, repeats=None)
    assert nothing.cautions() == []
    assert nothing.findings() == []
    assert from_json(Probes, json_ready(nothing)) == nothing


def test_without_edges_nobody_can_tell_who_looks_at_them() -> None:
    lonely = small_graph(60).replace(
        edge_index=torch.empty(2, 0, dtype=torch.int64), mechanism=None
    )
    assert seen(Worlds(lonely), NeighborSens()).graph is None


@pytest.mark.parametrize(("factor", "base", "cut"), [(1e-7, 0.0, 5e-8), (0.9, 1e6, 1e6 + 0.5)])
def test_scores_may_be_of_any_size(worlds: Worlds, factor: float, base: float, cut: float) -> None:
    model = adapt(lambda graph: base + factor * graph.sens.double(), threshold=cut)
    rows = torch.arange(60)
    assert probe(model, worlds, rows, model.predict(worlds.factual, rows)).sens is True
