"""What GearPaper leaves on disk: saved models, and checkpoints of an unfinished fit."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import FileError, ParameterError
from fairgear.methods import GearPaper, load_model
from fairgear.methods.gear_paper.generator_training import VaeTask
from fairgear.methods.gear_paper.training import PaperTask
from fairgear.methods.saved import read_saved, write_saved
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import Checkpoint
from tests.methods.gear_paper.tiny import tiny
from tests.training.test_checkpoints import Trap
from tests.training.toy import Interrupted, same_weights


@pytest.fixture
def saved(fitted: GearPaper, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_model_comes_back_exactly(saved: Path, fitted: GearPaper, dense: SensitiveGraph) -> None:
    assert sorted(path.name for path in saved.iterdir()) == ["model.json", "weights.safetensors"]
    for back in (load_model(saved, device="cpu"), GearPaper.load(str(saved), device="cpu")):
        assert isinstance(back, GearPaper)
        assert np.array_equal(back.predict_proba(dense), fitted.predict_proba(dense))
        assert np.array_equal(back.predict(dense), fitted.predict(dense))
        assert np.array_equal(back.embed(dense), fitted.embed(dense))
        assert back.threshold_ == fitted.threshold_
        assert back.get_params() == fitted.get_params()
        assert back.history_ == fitted.history_


@pytest.mark.parametrize("variant", ["np", "nc"])
def test_a_model_without_a_generator_comes_back_too(
    variant: str, graph: SensitiveGraph, tmp_path: Path
) -> None:
    gear = tiny(variant=variant).fit(graph)
    gear.save(tmp_path)
    back = load_model(tmp_path)
    assert np.array_equal(back.predict_proba(graph), gear.predict_proba(graph))


def test_saving_twice_writes_the_same_bytes(saved: Path, fitted: GearPaper, tmp_path: Path) -> None:
    load_model(saved).save(tmp_path / "again")
    for name in ("model.json", "weights.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()


@pytest.mark.parametrize("damage", ["shape", "missing"])
def test_weights_that_do_not_fit_the_settings_are_refused(damage: str, saved: Path) -> None:
    path = saved / "weights.safetensors"
    tensors, facts = read_tensors(path)
    name = next(name for name in tensors if name.startswith("network.encoder"))
    if damage == "shape":
        tensors[name] = tensors[name][:-1]
    else:
        del tensors[name]
    write_tensors(path, tensors, facts)
    with pytest.raises(FileError, match=rf"^weights {name} [^\n]*$"):
        load_model(saved)


def test_settings_that_do_not_fit_the_weights_are_refused(saved: Path) -> None:
    held = read_saved(saved)
    held.about["config"]["dim"] = 8
    write_saved(saved, held.about, held.tensors, held.facts)
    with pytest.raises(FileError, match=r"^weights [^\n]*$"):
        load_model(saved)


def test_a_pickle_in_place_of_the_weights_is_refused_and_never_run(saved: Path) -> None:
    trap = Trap(saved / "sprung")
    (saved / "weights.safetensors").write_bytes(pickle.dumps(trap))
    with pytest.raises(FileError, match=r"^cannot read [^\n]*weights\.safetensors[^\n]*$"):
        load_model(saved)
    assert not trap.sprung.exists()


@pytest.mark.parametrize(
    "content", [None, "", "[1, 2]", "{}", '{"format": 5}', '{"format": 4}', "\x00"]
)
def test_a_folder_without_a_proper_model_json_is_refused(content: str | None, saved: Path) -> None:
    (saved / "model.json").unlink()
    if content is not None:
        (saved / "model.json").write_text(content)
    with pytest.raises(FileError, match=r"^model folder [^\n]*$"):
        load_model(saved)


def test_a_model_of_an_earlier_format_is_refused_with_the_version_that_reads_it(
    saved: Path,
) -> None:
    about = json.loads((saved / "model.json").read_text())
    (saved / "model.json").write_text(json.dumps(about | {"format": 3}))
    line = r"^model folder [^\n]*format 3, saved by fairgear 0\.1; allowed: format 4[^\n]*$"
    with pytest.raises(FileError, match=line):
        load_model(saved)


@pytest.mark.parametrize("name", ["weights.safetensors", "model.json"])
def test_a_missing_file_is_refused(name: str, saved: Path) -> None:
    (saved / name).unlink()
    with pytest.raises(FileError, match=r"^[^\n]+$"):
        load_model(saved)


def test_a_saved_model_of_an_unknown_method_or_device_is_refused(saved: Path) -> None:
    with pytest.raises(ParameterError, match="nosuch"):
        load_model(saved, device="nosuch")
    held = read_saved(saved)
    write_saved(saved, held.about | {"method": "nosuch"}, held.tensors, held.facts)
    with pytest.raises(FileError, match=r"'nosuch', which is not registered"):
        load_model(saved)


def stop(monkeypatch: pytest.MonkeyPatch, kind: type[PaperTask] | type[VaeTask], at: int) -> None:
    """Make the next training stop at a step, once."""
    work = kind.step

    def step(self: PaperTask | VaeTask, number: int) -> dict[str, Tensor]:
        if number == at:
            monkeypatch.setattr(kind, "step", work)
            raise Interrupted
        return work(self, number)  # type: ignore[arg-type]  # self is of `kind`

    monkeypatch.setattr(kind, "step", step)


def weights(gear: GearPaper, folder: Path) -> dict[str, Tensor]:
    gear.save(folder)
    return read_tensors(folder / "weights.safetensors")[0]


@pytest.mark.parametrize(
    ("variant", "kind", "steps"),
    [
        ("nc", PaperTask, [1, 13]),
        ("full", VaeTask, [7, 19]),
        ("full", PaperTask, [13]),
    ],
)
def test_an_interrupted_fit_goes_on_to_the_same_model(
    variant: str,
    kind: type[PaperTask] | type[VaeTask],
    steps: list[int],
    graph: SensitiveGraph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In epochs of two batches each, whose order must be the same after the interruption.
    settings = {"variant": variant, "epochs": 10, "batch_size": 60, "threshold": "validation"}
    whole = tiny(**settings).fit(graph)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    folder = tmp_path / "unfinished"
    for at in steps:
        stop(monkeypatch, kind, at)
        with pytest.raises(Interrupted):
            tiny(**settings).fit(graph, checkpoint=folder)
    numbers: list[int] = []
    work = kind.step

    def counted(self: PaperTask | VaeTask, number: int) -> dict[str, Tensor]:
        numbers.append(number)
        return work(self, number)  # type: ignore[arg-type]  # self is of `kind`

    monkeypatch.setattr(kind, "step", counted)
    resumed = tiny(**settings).fit(graph, checkpoint=folder)
    assert numbers[0] == steps[-1], "it went on from where it was stopped"
    assert resumed.history_ == whole.history_
    assert same_weights(weights(resumed, tmp_path / "a"), weights(whole, tmp_path / "b"))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("change", ["seed", "setting", "graph"])
def test_a_checkpoint_of_another_fit_is_left_out_of_account(
    change: str, graph: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    stop(monkeypatch, PaperTask, 13)
    with pytest.raises(Interrupted):
        tiny(variant="nc").fit(graph, checkpoint=tmp_path)
    other = tiny(
        variant="nc",
        seed=int(change == "seed"),
        fairness_weight=0.5 if change == "setting" else 0.6,
    )
    data = graph
    if change == "graph":
        x = graph.x.clone()
        x[0, 1] += 1
        data = graph.replace(x=x)
    expected = tiny(**(other.get_params())).fit(data).predict_proba(data)
    assert np.array_equal(other.fit(data, checkpoint=tmp_path).predict_proba(data), expected)


def test_a_model_is_saved_with_the_settings_of_its_fit(
    graph: SensitiveGraph, tmp_path: Path
) -> None:
    gear = tiny(variant="nc").fit(graph)
    gear.set_params(dim=4)
    gear.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert np.array_equal(again.predict_proba(graph), gear.predict_proba(graph))


@pytest.mark.parametrize(
    "damage",
    [
        {"features": None},
        {"features": 3},
        {"sens_column": "a"},
        {"sens_column": 99},
        {"history": []},
        {"history": {"network": {"nosuch": 1}}},
    ],
)
def test_damaged_facts_are_refused(damage: dict[str, object], saved: Path) -> None:
    path = saved / "weights.safetensors"
    tensors, facts = read_tensors(path)
    write_tensors(path, tensors, facts | damage)
    with pytest.raises(FileError):
        load_model(saved)
