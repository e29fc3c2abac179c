"""What Gear leaves on disk; tests of GearPaper look at what all models have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import FileError
from fairgear.methods import Gear, load_model
from fairgear.methods.gear.training import GearTask
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import Checkpoint
from tests.methods.gear.test_family import DIAGRAM
from tests.methods.gear.tiny import telling, tiny
from tests.training.toy import Interrupted, same_weights


@pytest.fixture
def saved(fitted: Gear, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_comes_back_exactly(saved: Path, fitted: Gear, dense: SensitiveGraph) -> None:
    for back in (load_model(saved, device="cpu"), Gear.load(str(saved), device="cpu")):
        assert isinstance(back, Gear)
        assert np.array_equal(back.predict_proba(dense), fitted.predict_proba(dense))
        assert np.array_equal(back.embed(dense), fitted.embed(dense))
        assert back.threshold_ == fitted.threshold_
        assert back.get_params() == fitted.get_params()
        assert back.history_ == fitted.history_
        assert back.trained_for_ == fitted.trained_for_


def test_saving_twice_writes_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    load_model(saved).save(tmp_path / "again")
    for name in ("model.json", "weights.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()


@pytest.mark.parametrize("settings", [{"views": False}, {"encoder": "linear", "r2_limit": 0.1}])
def test_other_settings_come_back_too(
    settings: dict[str, Any], graph: SensitiveGraph, tmp_path: Path
) -> None:
    gear = tiny(**settings).fit(graph)
    gear.save(tmp_path)
    back = load_model(tmp_path)
    assert back.config == gear.config
    assert np.array_equal(back.predict_proba(graph), gear.predict_proba(graph))


def test_a_model_needs_its_diagram_no_more(dense: SensitiveGraph, tmp_path: Path) -> None:
    path = tmp_path / "diagram.yaml"
    path.write_text(DIAGRAM)
    gear = tiny(causal=str(path)).fit(dense)
    gear.save(tmp_path / "model")
    path.unlink()
    back = load_model(tmp_path / "model")
    assert isinstance(back, Gear)
    assert back.trained_for_ == gear.trained_for_
    assert np.array_equal(back.predict_proba(dense), gear.predict_proba(dense))


def test_a_model_moves_people_by_the_noise_of_its_fit(
    dense: SensitiveGraph, tmp_path: Path
) -> None:
    graph = dense.replace(x=dense.x.round())
    gear = tiny().fit(graph)
    scores = gear.predict_proba(graph)
    gear.set_params(seed=5)
    gear.save(tmp_path)
    assert np.array_equal(gear.predict_proba(graph), scores)
    assert np.array_equal(load_model(tmp_path).predict_proba(graph), scores)


def test_weights_and_maps_that_do_not_fit_are_refused(saved: Path) -> None:
    path = saved / "weights.safetensors"
    tensors, facts = read_tensors(path)
    for start in ("network.encoder", "family.1.", "ranks.knots"):
        name = next(name for name in tensors if name.startswith(start))
        rest = {other: tensor for other, tensor in tensors.items() if other != name}
        for damaged in (rest, tensors | {name: tensors[name][:-1]}):
            write_tensors(path, damaged, facts)
            with pytest.raises(FileError, match=rf"^weights {name} [^\n]*$"):
                load_model(saved)


@pytest.mark.parametrize(
    "damage",
    [
        {"family": None},
        {"family": {"models": []}},
        {"family": {"models": [{"model": {}, "tensors": {}}], "seed": 0}},
        {"family": {"models": 3, "seed": 0}},
        {"large": 1},
        {"features": 3},
        {"history": []},
    ],
)
def test_damaged_facts_are_refused(damage: dict[str, object], saved: Path) -> None:
    path = saved / "weights.safetensors"
    tensors, facts = read_tensors(path)
    write_tensors(path, tensors, facts | damage)
    with pytest.raises(FileError, match=r"^[^\n]+$"):
        load_model(saved)


def stop(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Make the next training stop at a step, once."""
    work = GearTask.step

    def step(self: GearTask, number: int) -> dict[str, Tensor]:
        if number == at:
            monkeypatch.setattr(GearTask, "step", work)
            raise Interrupted
        return work(self, number)

    monkeypatch.setattr(GearTask, "step", step)


def weights(gear: Gear, folder: Path) -> dict[str, Tensor]:
    gear.save(folder)
    return read_tensors(folder / "weights.safetensors")[0]


@pytest.mark.parametrize("batches", [{}, {"batch_size": 30, "fanout": 3}])
def test_an_interrupted_fit_goes_on_to_the_same_model(
    batches: dict[str, Any],
    dense: SensitiveGraph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # With a limit that is exceeded there is a penalty, whose state must be resumed.
    graph = telling(dense)
    for module in ("config", "training"):
        monkeypatch.setattr(f"fairgear.methods.gear.{module}.VALIDATE_EVERY", 4)
    settings = {"r2_limit": 0.0, "learning_rate": 0.1, **batches}
    whole = tiny(**settings).fit(graph)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    folder = tmp_path / "unfinished"
    for at in (1, 13):
        stop(monkeypatch, at)
        with pytest.raises(Interrupted):
            tiny(**settings).fit(graph, checkpoint=folder)
    tensors, _ = read_tensors(folder / "network.safetensors")
    assert float(tensors["penalty.integral"]) > 0
    assert float(tensors["boundary.cut"]) != 0
    assert bool((tensors["weights.running"] != 1).all())
    numbers: list[int] = []
    work = GearTask.step

    def counted(self: GearTask, number: int) -> dict[str, Tensor]:
        numbers.append(number)
        return work(self, number)

    monkeypatch.setattr(GearTask, "step", counted)
    resumed = tiny(**settings).fit(graph, checkpoint=folder)
    assert numbers == list(range(13, 20)), "it went on from where it was stopped"
    assert resumed.history_ == whole.history_
    assert same_weights(weights(resumed, tmp_path / "a"), weights(whole, tmp_path / "b"))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("change", ["setting", "diagram"])
def test_a_checkpoint_of_another_fit_is_left_out_of_account(
    change: str, dense: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "diagram.yaml", tmp_path / "unfinished"
    path.write_text(DIAGRAM)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    stop(monkeypatch, 13)
    with pytest.raises(Interrupted):
        tiny(causal=str(path)).fit(dense, checkpoint=folder)
    settings: dict[str, Any] = {"causal": str(path)}
    if change == "diagram":
        path.write_text("parents: {x3: [x1], x0: [x3]}\n")
    else:
        settings["edge_noise"] = 0.1
    expected = tiny(**settings).fit(dense).predict_proba(dense)
    found = tiny(**settings).fit(dense, checkpoint=folder).predict_proba(dense)
    assert np.array_equal(found, expected)
