"""The graph networks where the sensitive attribute is a number, and FairGNN with several groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import GraphError
from fairgear.graph import Attributes
from fairgear.methods.base import METHODS
from fairgear.methods.baselines.cenc import CencConfig, CencTask
from fairgear.methods.baselines.fairgnn import FairGnn, FairGnnTask
from fairgear.methods.baselines.gnn import GraphSage
from fairgear.methods.baselines.nifty import NiftySage, NiftyTask, flipped
from fairgear.methods.baselines.whole_graph import WholeGraph
from fairgear.methods.loading import load_model
from tests.methods.numbers import aged

NAMES = ("gcn", "graphsage", "gin", "nifty-gcn", "nifty-sage", "c-enc", "fairgnn")
SMALL: dict[str, Any] = {"steps": 10, "device": "cpu"}


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return aged()


def of_three_groups(graph: SensitiveGraph) -> SensitiveGraph:
    """By age."""
    sens = torch.bucketize(graph.sens, torch.tensor([35.0, 48.0], dtype=torch.float64))
    attributes = Attributes.single("age", ["young", "middle", "old"])
    return graph.replace(sens=sens, sens_column=None, attributes=attributes)


def standardised(values: Tensor, among: Tensor | None = None) -> Tensor:
    known = values if among is None else values[among]
    return (values - known.mean()) / known.std(correction=0)


def small(name: str, **settings: Any) -> WholeGraph:
    few = {"estimator_steps": 5, "known_sens": 0} if name == "fairgnn" else {}
    model = METHODS[name](**(SMALL | few | settings))
    assert isinstance(model, WholeGraph)
    return model


@pytest.mark.parametrize("name", NAMES)
def test_each_learns_and_comes_back(name: str, graph: SensitiveGraph, tmp_path: Path) -> None:
    model = small(name, batch_size=60 if name in ("nifty-sage", "fairgnn") else 0).fit(graph)
    scores = model.predict_proba(graph)
    assert np.ptp(scores[:, 1]) > 1e-4
    model.save(tmp_path)
    back = load_model(tmp_path, device="cpu")
    assert np.array_equal(back.predict_proba(graph), scores)
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    again = small(name, batch_size=model.config.batch_size).fit(graph.permute(order))
    np.testing.assert_allclose(again.predict_proba(graph), scores, atol=1e-5)


def test_networks_see_the_standardised_number_in_units_of_the_fit(graph: SensitiveGraph) -> None:
    model = small("graphsage").fit(graph)
    seen = model._inputs(graph)
    order = graph.canonical.rows
    expected = standardised(graph.sens)[order]
    torch.testing.assert_close(seen.x[:, -1].double(), expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(seen.sens.double(), expected, atol=1e-6, rtol=0)
    assert seen.x.shape == (300, 5)
    # Another graph: still the mean and the deviation of the fit.
    sens = (graph.sens + 24).float().double()
    x = graph.x.clone()
    x[:, 1] = sens.float()
    older = model._inputs(graph.replace(x=x, sens=sens)).x[:, -1]
    years = float(graph.sens.std(correction=0))
    torch.testing.assert_close(older.double(), expected + 24 / years, atol=1e-5, rtol=0)
    assert small("graphsage", use_sens=False).fit(graph)._inputs(graph).x.shape == (300, 4)


def test_groups_are_no_number(graph: SensitiveGraph) -> None:
    model = small("gcn").fit(graph)
    with pytest.raises(GraphError, match=r"^sensitive attribute[^\n]*groups[^\n]*a number[^\n]*$"):
        model.predict(of_three_groups(graph))
    sens = torch.full_like(graph.sens, 30)
    x = graph.x.clone()
    x[:, 1] = 30
    with pytest.raises(GraphError, match=r"^a graph to train gcn on[^\n]*everybody[^\n]*$"):
        small("gcn").fit(graph.replace(x=x, sens=sens))


def test_a_flipped_number_is_one_that_somebody_has() -> None:
    torch.manual_seed(0)
    values = torch.tensor([-1.0, 0.0, 0.0, 2.5])
    x = torch.cat([torch.randn(4000, 2), values[torch.arange(4000) % 4, None]], dim=1)
    new = flipped(x, 0, values=values)
    assert torch.equal(new[:, :2], x[:, :2])
    for value, share in ((-1.0, 0.25), (0.0, 0.5), (2.5, 0.25)):
        # Whatever one's own is.
        for own in (0, 3):
            found = float((new[own::4, 2] == value).float().mean())
            assert found == pytest.approx(share, abs=4 * (share * (1 - share) / 1000) ** 0.5)


def test_in_validation_the_number_moves_on_by_half_of_the_people() -> None:
    own = torch.tensor([3.0, 9.0, 1.0, 5.0, 7.0, 2.0])
    x = torch.stack([torch.zeros(6), own], dim=1)
    new = flipped(x, 0, drawn=False, values=own.sort().values)[:, 1]
    # 1 2 3 5 7 9 become 5 7 9 1 2 3.
    assert new.tolist() == [9.0, 3.0, 5.0, 1.0, 2.0, 7.0]
    # Equal ones stay equal, whatever their order.
    tied = torch.tensor([[0.0, 1.0], [0.0, 1.0], [0.0, 4.0]])
    new = flipped(tied, 0, drawn=False, values=torch.tensor([1.0, 1.0, 4.0]))[:, 1]
    assert new[0] == new[1]


def task_of(model: WholeGraph, graph: SensitiveGraph) -> Any:
    """The task of a fit, before its first step."""
    model._aim(graph)
    model._learn_inputs(graph)
    order = graph.canonical.rows
    rows = [mask[order].nonzero()[:, 0] for mask in (graph.train_mask, graph.val_mask)]
    return model._task(graph, model._inputs(graph), graph.y[order], *rows)


def test_views_of_nifty_have_other_numbers_and_the_same_people(graph: SensitiveGraph) -> None:
    task = task_of(NiftySage(**SMALL, feature_noise=1.0), graph)
    assert isinstance(task, NiftyTask)
    torch.manual_seed(0)
    (one, _), (other, _) = task.views(task.graph.links.everyone)
    assert torch.equal(one[:, -1], task.graph.sens)
    assert torch.isin(other[:, -1], task.graph.sens).all()
    assert float((other[:, -1] != one[:, -1]).float().mean()) > 0.95
    assert not torch.isin(other[:, :-1], task.graph.x[:, :-1]).any()


def test_the_discriminator_of_a_number_loses_half_of_what_it_cannot_explain(
    graph: SensitiveGraph,
) -> None:
    config = CencConfig(dim=4)
    model = METHODS["c-enc"].from_config(config, device="cpu")
    assert isinstance(model, WholeGraph)
    task = task_of(model, graph)
    assert isinstance(task, CencTask)
    with torch.no_grad():
        z = torch.randn(300, 4)
        guess = task.discriminator(z)[:, 0].double().numpy()
        loss = float(task.log_loss(z, task.graph.sens))
    s = standardised(graph.sens)[graph.canonical.rows].numpy()
    # −log of the normal density around the guess, less its constant.
    expected = -np.log(np.exp(-0.5 * (s - guess) ** 2)).mean()
    assert loss == pytest.approx(expected, rel=1e-5)
    # It costs ½ to read nothing, and (1 − R²)/2 to read by the best line.
    column = graph.x[:, 2].double()[graph.canonical.rows].numpy()
    r2 = np.corrcoef(column, s)[0, 1] ** 2
    for line, cost in ((np.zeros(300), 0.5), (np.polyval(np.polyfit(column, s, 1), column), 0)):
        reader = Reader(torch.from_numpy(line).float()[:, None])
        task.discriminator = reader
        wanted = cost or (1 - r2) / 2
        assert float(task.log_loss(z, task.graph.sens)) == pytest.approx(wanted, rel=1e-4)


class Reader(torch.nn.Module):
    """Guesses what it was given."""

    def __init__(self, guess: Tensor) -> None:
        super().__init__()
        self.guess = guess

    def forward(self, z: Tensor) -> Tensor:
        return self.guess


def told(task: FairGnnTask, model: FairGnn, graph: SensitiveGraph) -> NDArray[np.float64]:
    """ŝ in canonical order; of a number in units of the known people's."""
    order, known = graph.canonical.rows, task.graph.known
    guess = torch.from_numpy(model.estimate_sens(graph))[order]
    own = graph.sens[order]
    if model.groups_:
        own = torch.eye(3, dtype=torch.float64)[own]
        return np.asarray(torch.where(known[:, None], own, guess).numpy())
    both = torch.where(known, own, guess)
    return np.asarray(((both - own[known].mean()) / own[known].std(correction=0)).numpy())


@pytest.mark.parametrize("use_sens", [False, True])
@pytest.mark.parametrize("groups", [True, False])
def test_terms_of_fairgnn_are_those_of_numpy(
    groups: bool, use_sens: bool, graph: SensitiveGraph
) -> None:
    graph = of_three_groups(graph) if groups else graph
    tasks: list[FairGnnTask] = []

    class KeptTask(FairGnnTask):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            tasks.append(self)

    class Kept(FairGnn):
        task_type = KeptTask

    model = Kept(**SMALL, estimator_steps=20, known_sens=100, use_sens=use_sens).fit(graph)
    (task,) = tasks
    assert int(task.graph.known.sum()) == 100
    batch, labelled, y = task.draw()
    with torch.no_grad():
        z, logits = task.network(batch.inputs(task.graph.x), batch.neighbors)
        terms = task.terms(batch, z, logits, labelled, y)
    s, answers = told(task, model, graph), expit(logits.double().numpy())
    adversary = task.modules["adversary"].double().state_dict()
    state = {name: value.numpy() for name, value in adversary.items()}
    read = z.double().numpy()
    read = (read - read.mean(axis=0)) / np.sqrt(read.var(axis=0) + 1e-6)
    guess = read @ state["linear.weight"].T + state["linear.bias"]
    if groups:
        covariance = sum(abs(np.cov(column, answers, bias=True)[0, 1]) for column in s.T) / 2
        odds = expit(guess)
        losses = -(s * np.log(odds) + (1 - s) * np.log(1 - odds)).sum(axis=1)
    else:
        covariance = abs(np.cov(s, answers, bias=True)[0, 1])
        losses = 0.5 * (s - guess[:, 0]) ** 2
    assert float(terms["covariance"]) == pytest.approx(covariance, rel=1e-3, abs=1e-7)
    assert float(terms["adversary"]) == pytest.approx(losses.mean(), rel=1e-3)
    guesses = model.estimate_sens(graph)
    if groups:
        np.testing.assert_allclose(guesses.sum(axis=1), 1, atol=1e-5)
    else:
        # In years, and better than none.
        hidden = ~task.graph.known[graph.canonical.numbers]
        assert np.corrcoef(guesses[hidden], graph.sens[hidden])[0, 1] > 0.5
        assert 35 < guesses.mean() < 45


@pytest.mark.parametrize("groups", [True, False])
def test_s_of_those_who_did_not_tell_is_never_read(groups: bool, graph: SensitiveGraph) -> None:
    graph = (
        of_three_groups(graph)
        if groups
        else graph.replace(x=graph.x[:, [0, 2, 3, 4]], feature_names=None, sens_column=None)
    )
    model = FairGnn(**SMALL, estimator_steps=5, known_sens=100).fit(graph)
    known = model._inputs(graph).known[graph.canonical.numbers]
    other = graph.sens.flip(0) if groups else graph.sens * 3 + 1
    lied = graph.replace(sens=torch.where(known, graph.sens, other))
    again = FairGnn(**SMALL, estimator_steps=5, known_sens=100).fit(lied)
    assert np.array_equal(again.predict_proba(graph), model.predict_proba(graph))


def test_people_who_tell_too_little_are_refused(graph: SensitiveGraph) -> None:
    with pytest.raises(GraphError, match=r"^the 1 people[^\n]*numbers that differ[^\n]*known_sens"):
        FairGnn(**SMALL, known_sens=1).fit(graph)
    with pytest.raises(GraphError, match=r"got people of 1 of 3 groups; allowed: people of all"):
        FairGnn(**SMALL, known_sens=2).fit(of_three_groups(graph))


def test_hiding_a_number_hides_it(graph: SensitiveGraph) -> None:
    """What a line reads from the embeddings of people that it was not fitted to."""
    test = graph.test_mask.numpy()

    def read(model: WholeGraph) -> float:
        z, s = model.fit(graph).embed(graph), graph.sens.numpy()
        line = np.linalg.lstsq(np.c_[z, np.ones(300)][~test], s[~test], rcond=None)[0]
        return float(np.corrcoef(np.c_[z, np.ones(300)][test] @ line, s[test])[0, 1] ** 2)

    plain = read(GraphSage(steps=100, device="cpu"))
    assert plain > 0.6
    few = {"known_sens": 0, "estimator_steps": 1, "steps": 200}
    hiding: dict[str, dict[str, Any]] = {"c-enc": {"steps": 200}, "fairgnn": few}
    for name, settings in hiding.items():
        model = METHODS[name](device="cpu", validate_every=100, **settings)
        assert isinstance(model, WholeGraph)
        assert read(model) < plain / 2
