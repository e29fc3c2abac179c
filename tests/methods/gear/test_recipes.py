"""The training recipes, the choice between them, and the two ends of `erase`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.errors import FileError
from fairgear.methods import Gear, load_model
from fairgear.methods.gear.config import Recipe
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import Task, Validation
from tests.methods.gear.tiny import tiny, two_recipes


def settled(recipe: Recipe) -> Gear:
    """A Gear that trains with one recipe."""
    return tiny(**asdict(recipe))


def test_both_ways_are_tried_and_the_better_on_validation_people_is_kept(
    dense: SensitiveGraph, tmp_path: Path
) -> None:
    gear = two_recipes().fit(dense)
    assert len(gear.trials_) == 2
    best = max(gear.trials_, key=lambda trial: trial.score)
    assert gear.recipe_ == best.recipe
    assert gear.history_["network"].best_score == best.score
    # Each way went as if there had been no other, and what is kept is that model to the bit.
    alone = {trial.recipe: settled(trial.recipe).fit(dense) for trial in gear.trials_}
    for trial in gear.trials_:
        assert [one.score for one in alone[trial.recipe].trials_] == [trial.score]
    kept = alone[best.recipe]
    assert np.array_equal(gear.predict_proba(dense), kept.predict_proba(dense))
    gear.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded, Gear)
    assert (loaded.trials_, loaded.recipe_) == (gear.trials_, gear.recipe_)
    assert np.array_equal(loaded.predict_proba(dense), gear.predict_proba(dense))


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": "two"},
        {"layers": 0},
        {"dropout": 3},
        {"steps": None},
        {"ranks": "auto"},
        {"consistency": None},
        {"other": 1},
    ],
)
def test_a_damaged_recipe_is_refused(changes: dict[str, Any], fitted: Gear, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    tensors, facts = read_tensors(tmp_path / "weights.safetensors")
    facts["recipe"] |= changes
    write_tensors(tmp_path / "weights.safetensors", tensors, facts)
    with pytest.raises(FileError, match="damaged"):
        load_model(tmp_path)


@pytest.mark.parametrize("winner", [0, 1])
def test_the_choice_is_by_the_score_whichever_comes_first(
    winner: int, dense: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairgear.methods.gear.training import GearTask

    def validate(self: Task) -> Validation:
        assert isinstance(self, GearTask)
        return Validation(float((self.recipe.layers == 2) == bool(winner)), {"auroc": 0.5})

    monkeypatch.setattr(GearTask, "validate", validate)
    gear = two_recipes(variant="nc").fit(dense)
    assert gear.recipe_ == gear.trials_[winner].recipe
    assert [trial.score for trial in gear.trials_] == [float(winner == 0), float(winner == 1)]


def test_an_interrupted_second_way_goes_on(
    dense: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairgear.methods.gear.training import GearTask
    from fairgear.training import Checkpoint

    whole = two_recipes(variant="nc").fit(dense)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    work, asked = GearTask.step, []

    def step(self: GearTask, number: int) -> Any:
        asked.append((self.recipe.layers, number))
        if asked.count((2, 7)) == 1 and asked[-1] == (2, 7):
            raise KeyboardInterrupt
        return work(self, number)

    monkeypatch.setattr(GearTask, "step", step)
    with pytest.raises(KeyboardInterrupt):
        two_recipes(variant="nc").fit(dense, checkpoint=tmp_path)
    before = len(asked)
    resumed = two_recipes(variant="nc").fit(dense, checkpoint=tmp_path)
    assert asked[before] == (2, 7), "the first way is not trained again"
    assert resumed.trials_ == whole.trials_
    assert np.array_equal(resumed.predict_proba(dense), whole.predict_proba(dense))
    assert list(tmp_path.iterdir()) == []


def moved(graph: SensitiveGraph, dose: float) -> SensitiveGraph:
    """Everybody of the other group, with `dose` of the difference of the groups' means."""
    v = graph.x[graph.sens == 1].mean(dim=0) - graph.x[graph.sens == 0].mean(dim=0)
    sens = 1 - graph.sens
    x = graph.x + dose * (sens - graph.sens)[:, None] * v
    x[:, 1] = sens
    return graph.replace(x=x, sens=sens)


@pytest.mark.parametrize("erase", [0.0, 0.5, 1.0])
def test_the_dial(erase: float, dense: SensitiveGraph) -> None:
    """Nobody's score moves with s and features; with s alone, nobody's at the end of both."""
    shift = torch.tensor([1.0, 0.0, -0.5, 0.3, 0.0, 0.8])
    graph = dense.replace(x=dense.x + dense.sens[:, None] * shift)
    gear = tiny(erase=erase, direction="means", learning_rate=0.02).fit(graph)
    before = gear.predict_proba(graph)
    np.testing.assert_allclose(gear.predict_proba(moved(graph, 1.0)), before, atol=1e-4)
    same = np.allclose(gear.predict_proba(moved(graph, 0.1)), before, atol=1e-4)
    assert same == (erase == 1.0)
