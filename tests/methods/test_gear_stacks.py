"""Seeds trained together: each is moved as it would be alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import split
from fairgear.methods import Gear
from fairgear.methods.gear_data import GearData
from fairgear.methods.gear_stacks import GearStack, VaeStack
from fairgear.nn.graph_vae import Latent
from fairgear.training import Validation
from tests.methods.tiny import GENERATOR, tiny

SETTINGS: dict[str, Any] = {
    "dim": 16,
    "steps": 20,
    "validate_every": 10,
    "k": 8,
    "generator": GENERATOR,
}


def begun(graph: SensitiveGraph, seed: int, **settings: Any) -> tuple[Gear, GearData]:
    model = tiny(seed=seed, **settings)
    return model, model._begin(graph)


def same_weights(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for name, value in one.state_dict().items():
        torch.testing.assert_close(value, other.state_dict()[name], atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"averaging": 0.0}, 1.0),
        ({"averaging": 0.9}, 1.0),
        ({"averaging": 0.9, "ranks": "beside", "normalize_rows": True}, 0.01),
    ],
)
def test_a_step_of_all_is_a_step_of_each(
    graph: SensitiveGraph, more: dict[str, Any], limit: float
) -> None:
    # Nothing random is left in a step but who takes part.
    settings = {"variant": "np", "dropout": 0.0, **more}

    def tasks() -> list[Any]:
        made = []
        for seed in (0, 1, 2):
            model, data = begun(graph, seed, **settings)
            task = model._network_task(data, model._regimes(graph)[0], None)
            # Of the variant without anything random there is no limit, so it is set here.
            task.loss.pressure.limit = limit
            for held in task.loss.pressure.buffers():
                held.fill_(0.5 + seed)
            made.append(task)
        return made

    alone, together = tasks(), tasks()
    stack = GearStack(together)
    for _ in range(3):
        drawn = [task.draw() for task in alone]
        expected = [task._plain_update(*rows) for task, rows in zip(alone, drawn, strict=True)]
        labelled, anyone = (torch.stack(list(rows)) for rows in zip(*drawn, strict=True))
        terms = stack._plain_update(labelled, anyone)
        for place, parts in enumerate(expected):
            assert set(parts) == set(terms)
            assert ("dependence" in parts) == (limit < 1)
            for name, value in parts.items():
                torch.testing.assert_close(terms[name][place], value, atol=1e-5, rtol=1e-5)
    stack.write_back()
    for one, other in zip(alone, together, strict=True):
        same_weights(one.network, other.network)
        same_weights(one.average, other.average)
    with torch.no_grad():
        for task, outcome in zip(alone, stack.validate(), strict=True):
            task.network.eval()
            assert outcome is not None
            expected_auroc = task.validate().figures["auroc"]
            assert outcome.figures["auroc"] == pytest.approx(expected_auroc, abs=0.01)
    pressed = torch.stack([task.loss.pressure.weight for task in alone])
    assert (limit < 1) == bool((pressed != torch.tensor([0.5, 1.5, 2.5])).any())
    # What is written back is what each has now, not what it had at first.
    stack.write_back()
    for name in ("held", "weight"):
        now = torch.stack([task.loss.pressure.get_buffer(name) for task in alone])
        kept = torch.stack([task.loss.pressure.get_buffer(name) for task in together])
        torch.testing.assert_close(kept, now, atol=0.05, rtol=0)
        torch.testing.assert_close(stack._weights.buffers[f"pressure.{name}"], kept)


def test_a_step_of_all_generators_is_a_step_of_each(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean(latent: Latent) -> Tensor:
        return latent.mean

    monkeypatch.setattr(Latent, "sample", mean)
    # Long gradients, so that their cutting by seed shows.
    alone, together = (
        [model._generator_task(data) for model, data in (begun(graph, seed) for seed in (0, 1))]
        for _ in range(2)
    )
    stack = VaeStack([task for task in together if task is not None])
    for _ in range(3):
        drawn = [task.draw() for task in alone if task is not None]
        expected = [t._plain_update(d) for t, d in zip(alone, drawn, strict=True) if t is not None]
        terms = stack._plain_update(torch.stack(drawn))
        for place, parts in enumerate(expected):
            for name, value in parts.items():
                torch.testing.assert_close(terms[name][place], value, atol=1e-4, rtol=1e-4)
    stack.write_back()
    for one, other in zip(alone, together, strict=True):
        assert one is not None
        assert other is not None
        for name, value in one.loss.state_dict().items():
            torch.testing.assert_close(value, other.loss.state_dict()[name], atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("variant", ["full", "nc"])
def test_seeds_together_are_models_like_any_other(variant: str, graph: SensitiveGraph) -> None:
    graphs = [split(graph, "sixty-twenty-twenty", seed=seed) for seed in (4, 5)]
    models = Gear.fit_seeds(graphs, [4, 5], device="cpu", variant=variant, **SETTINGS)
    assert [model.seed for model in models] == [4, 5]
    scores = [model.predict_proba(graph)[:, 1] for model in models]
    assert not np.allclose(scores[0], scores[1])
    for model in models:
        assert model.history_["network"].best_step in (10, 20)
        assert len(model.history_["network"].validation) == 2
        assert len(model.trials_) == 2
        assert model.threshold_ == 0.5
    again = Gear.fit_seeds(graphs, [4, 5], device="cpu", variant=variant, **SETTINGS)
    for one, other in zip(scores, again, strict=True):
        assert np.array_equal(one, other.predict_proba(graph)[:, 1])


def test_seeds_together_give_up_as_each_would_alone(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {0: [0.5, 0.4, 0.3, 0.9], 1: [0.1, 0.2, 0.1, 0.1]}
    asked = iter(range(100))

    def validate(self: GearStack) -> list[Validation]:
        number = next(asked) % 4  # again for the other way
        return [Validation(scores[place][number], {}) for place in range(len(self.tasks))]

    monkeypatch.setattr(GearStack, "validate", validate)
    settings: dict[str, Any] = {**SETTINGS, "layers": 1, "steps": 40, "variant": "np"}
    models = Gear.fit_seeds(graph, [0, 1], patience=20, **settings)
    first = [model.history_["network"] for model in models]
    # Steps 10, 20, …: the first has not been better since 10, the second since 20.
    assert [history.best_step for history in first] == [10, 20]
    assert [history.validation[-1]["step"] for history in first] == [30, 40]


def test_seeds_together_learn_as_well_as_alone() -> None:
    graph = fg.datasets.load("synthetic", n=300, seed=3)
    settings = {**SETTINGS, "steps": 60, "learning_rate": 0.01, "variant": "np"}
    models = Gear.fit_seeds(graph, [0, 1], device="cpu", **settings)
    rows = graph.train_mask.numpy()
    for model in models:
        right = model.predict(graph)[rows] == graph.y[graph.train_mask].numpy()
        assert right.mean() > 0.65


def test_what_cannot_be_trained_together_is_refused(
    graph: SensitiveGraph, dense: SensitiveGraph
) -> None:
    with pytest.raises(ParameterError, match="infomax"):
        Gear.fit_seeds(graph, [0, 1], encoder="infomax")
    with pytest.raises(ParameterError, match="2 for 1 graphs"):
        Gear.fit_seeds([graph], [0, 1])
    with pytest.raises(GraphError, match="more than their masks"):
        Gear.fit_seeds([graph, dense], [0, 1])
