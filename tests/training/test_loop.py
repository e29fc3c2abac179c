from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fairgear.training import Checkpoint, History, Task, Validation, train
from tests.training.toy import Interrupted, Toy, same_weights


def run(task: Task, steps: int = 40, checkpoint: Checkpoint | None = None) -> History:
    return train(
        task,
        steps=steps,
        seed=5,
        description="toy",
        validate_every=7,
        checkpoint=checkpoint,
    )


@pytest.mark.parametrize("steps", [40, 410])
def test_a_run_stopped_again_and_again_ends_as_one_that_was_not(
    steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """410 steps write a row every second step, so that some stops fall between two rows."""
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    whole = Toy()
    expected = run(whole, steps)
    path = tmp_path / "run.safetensors"
    resumed_from = []
    for number, stop in enumerate((1, 3, 8, 21, 22, 39)):
        # Once there is a file, what counts must come from it: another initialisation.
        task = Toy(stop_at=stop, init=100 + number if path.exists() else 0)
        with pytest.raises(Interrupted):
            run(task, steps, Checkpoint(path, "key"))
        resumed_from.append(task.steps_done[0])
        torch.manual_seed(number)
    assert resumed_from[0] == 0
    assert resumed_from[1:] == ([1, 3, 8, 21, 22] if steps == 40 else [0, 2, 8, 20, 22])
    # The rest writes no more than the last checkpoint.
    monkeypatch.setattr(Checkpoint, "due", lambda self: False)
    last = Toy(init=7)
    got = run(last, steps, Checkpoint(path, "key"))
    assert last.steps_done[-1] == steps - 1
    assert same_weights(last.weights(), whole.weights())
    assert got == expected
    # Finished, the file stays for a caller with more stages, which then has nothing to redo.
    again = Toy(init=8)
    assert run(again, steps, Checkpoint(path, "key")) == expected
    assert again.steps_done == []
    assert same_weights(again.weights(), whole.weights())


def test_an_interrupted_run_without_a_file_yet_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    with pytest.raises(Interrupted):
        run(Toy(stop_at=10), checkpoint=Checkpoint(path, "key"))
    assert not path.exists()
    task = Toy()
    run(task, checkpoint=Checkpoint(path, "key"))
    assert task.steps_done == list(range(40))


def test_files_are_written_when_due_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("fairgear.training.checkpoints.time.monotonic", lambda: clock[0])
    checkpoint = Checkpoint(tmp_path / "run.safetensors", "key")
    assert not checkpoint.due()
    clock[0] = 1e4
    assert checkpoint.due()
    checkpoint.write({}, {})
    assert not checkpoint.due()


def test_a_file_of_another_run_is_left_out_of_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    path = tmp_path / "run.safetensors"
    with pytest.raises(Interrupted):
        run(Toy(stop_at=10), checkpoint=Checkpoint(path, "other"))
    assert path.exists()
    task = Toy()
    run(task, checkpoint=Checkpoint(path, "key"))
    assert task.steps_done == list(range(40))


class Scripted(Task):
    """Its weight is the number of steps done; its scores are given."""

    def __init__(self, scores: list[float] | None) -> None:
        self.module = nn.Linear(1, 1, bias=False)
        nn.init.zeros_(self.module.weight)
        self.modules = {"module": self.module}
        self.optimizers = {}
        self.scores = scores
        self.modes: list[bool] = []

    def step(self, number: int) -> dict[str, Tensor]:
        self.modes.append(self.module.training)
        with torch.no_grad():
            self.module.weight += 1
        return {"number": torch.tensor(float(number))}

    def validate(self) -> Validation | None:
        assert not self.module.training
        assert not torch.is_grad_enabled()
        return None if self.scores is None else Validation(self.scores.pop(0), {"at": 1.0})


def test_the_best_state_is_left_in_the_modules_and_of_equals_the_first() -> None:
    task = Scripted([0.1, 0.9, 0.9, 0.4])
    history = train(task, steps=8, seed=0, description="scripted", validate_every=2)
    assert (history.best_step, history.best_score) == (4, 0.9)
    assert task.module.weight.item() == 4
    assert [row["step"] for row in history.validation] == [2, 4, 6, 8]
    assert all(task.modes)
    assert not task.module.training


def test_a_state_that_cannot_be_scored_is_never_the_best() -> None:
    task = Scripted([0.1, float("nan"), 0.05])
    history = train(task, steps=6, seed=0, description="scripted", validate_every=2)
    assert history.best_step == 2
    assert task.module.weight.item() == 2


@pytest.mark.parametrize("every", [0, 3])
def test_without_a_validation_the_last_state_is_kept(every: int) -> None:
    task = Scripted(None)
    history = train(task, steps=8, seed=0, description="scripted", validate_every=every)
    assert task.module.weight.item() == 8
    assert history.validation == []
    assert history.best_step == -1


def test_the_last_step_is_validated_too() -> None:
    task = Scripted([0.1, 0.2, 0.3])
    history = train(task, steps=7, seed=0, description="scripted", validate_every=3)
    assert [row["step"] for row in history.validation] == [3, 6, 7]


@pytest.mark.parametrize(("steps", "window"), [(7, 1), (401, 2), (605, 3)])
def test_a_row_of_the_history_is_the_mean_since_the_last_row(steps: int, window: int) -> None:
    history = train(Scripted(None), steps=steps, seed=0, description="scripted")
    numbers = list(range(steps))
    expected = [numbers[at : at + window] for at in range(0, steps, window)]
    assert [row["number"] for row in history.training] == [sum(e) / len(e) for e in expected]
    assert [row["step"] for row in history.training] == [e[-1] + 1 for e in expected]


def test_torchs_own_randomness_is_neither_used_nor_moved() -> None:
    results = []
    for state in (1, 2):
        task = Toy()
        torch.manual_seed(state)
        before = torch.random.get_rng_state()
        run(task)
        assert torch.equal(torch.random.get_rng_state(), before)
        results.append(task.weights())
    assert same_weights(*results)


def test_another_seed_or_name_of_a_run_draws_otherwise() -> None:
    weights = []
    for seed, name in ((0, "a"), (1, "a"), (0, "b")):
        task = Toy()
        train(task, steps=5, seed=seed, description=name)
        weights.append(task.weights())
    assert not same_weights(weights[0], weights[1])
    assert not same_weights(weights[0], weights[2])


def test_a_score_that_is_no_number_is_never_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    task, nan = Toy(), float("nan")
    scores = iter((nan, 0.5, nan, 0.7, 0.6))
    monkeypatch.setattr(task, "validate", lambda: Validation(next(scores), {}))
    history = train(task, steps=5, seed=0, description="toy", validate_every=1)
    assert (history.best_score, history.best_step) == (0.7, 4)
