from __future__ import annotations

import io
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from fairgear.errors import FileError
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import Checkpoint
from fairgear.training.checkpoints import (
    load_module,
    load_optimizer,
    module_tensors,
    optimizer_tensors,
)
from tests.training.test_loop import run
from tests.training.toy import Interrupted, Toy


class Trap:
    """Unpickling it creates a file: code that ran."""

    def __init__(self, sprung: Path) -> None:
        self.sprung = sprung

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.sprung,)


def pickled(kind: str, trap: Trap) -> bytes:
    if kind == "pickle":
        return pickle.dumps(trap)
    file = io.BytesIO()
    torch.save({"trap": trap}, file)
    return file.getvalue()


def test_tensors_and_facts_come_back_exactly(tmp_path: Path) -> None:
    tensors = {
        "a": torch.randn(3, 4).T,
        "b": torch.tensor([1, 2]),
        "c": torch.tensor(True),
        "d": torch.randn(2, dtype=torch.float64),
    }
    facts = {"key": "k", "list": [1, {"x": 0.1}], "low": float("-inf")}
    write_tensors(tmp_path / "new" / "file.safetensors", tensors, facts)
    back, said = read_tensors(tmp_path / "new" / "file.safetensors")
    assert said == facts
    assert back.keys() == tensors.keys()
    for name, value in tensors.items():
        assert back[name].dtype == value.dtype
        assert torch.equal(back[name], value)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["file.safetensors"]


@pytest.mark.parametrize("kind", ["pickle", "torch"])
def test_a_pickle_is_refused_and_its_code_never_runs(kind: str, tmp_path: Path) -> None:
    trap = Trap(tmp_path / "sprung")
    path = tmp_path / "run.safetensors"
    path.write_bytes(pickled(kind, trap))
    with pytest.raises(FileError) as caught:
        run(Toy(), checkpoint=Checkpoint(path, "key"))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    assert not trap.sprung.exists()
    pickle.loads(pickle.dumps(trap))
    assert trap.sprung.exists(), "the trap itself works"


@pytest.mark.parametrize("content", [b"", b"\x00" * 4, b"junk" * 100])
def test_other_bytes_are_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"^cannot read .*Next: [^\n]*$"):
        Checkpoint(path, "key").read()


def test_a_truncated_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    path = tmp_path / "run.safetensors"
    with pytest.raises(Interrupted):
        run(Toy(stop_at=10), checkpoint=Checkpoint(path, "key"))
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 20, 7):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"^[^\n]+$"):
            run(Toy(), checkpoint=Checkpoint(path, "key"))


def test_a_safetensors_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(FileError, match="fairgear"):
        read_tensors(path)
    save_file({"a": torch.zeros(1)}, path, metadata={"fairgear": "no json"})
    with pytest.raises(FileError, match="fairgear"):
        read_tensors(path)


def test_a_missing_file_is_nothing_to_a_checkpoint_and_an_error_to_a_reader(
    tmp_path: Path,
) -> None:
    path = tmp_path / "none.safetensors"
    checkpoint = Checkpoint(path, "key")
    assert checkpoint.read() is None
    checkpoint.remove()
    with pytest.raises(FileError, match=r"none\.safetensors"):
        read_tensors(path)


def test_a_checkpoint_reads_only_its_own_key(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    Checkpoint(path, "mine").write({"a": torch.ones(2)}, {"next_step": 3})
    assert Checkpoint(path, "yours").read() is None
    found = Checkpoint(path, "mine").read()
    assert found is not None
    assert found[1] == {"key": "mine", "next_step": 3}
    Checkpoint(path, "mine").remove()
    assert not path.exists()


@pytest.mark.parametrize("damage", ["shape", "missing"])
def test_weights_that_do_not_fit_are_refused_by_name(damage: str, tmp_path: Path) -> None:
    module = nn.Linear(3, 2)
    tensors = module_tensors("net", module)
    if damage == "shape":
        tensors["net.bias"] = torch.zeros(5)
    else:
        del tensors["net.bias"]
    shown = r"shape \(5,\)" if damage == "shape" else "none"
    with pytest.raises(FileError, match=rf"^weights net\.bias in [^\n]*got {shown}; [^\n]*$"):
        load_module(tmp_path / "file", "net", module, tensors)


def test_a_checkpoint_of_other_widths_is_refused_on_resuming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    path = tmp_path / "run.safetensors"
    with pytest.raises(Interrupted):
        run(Toy(stop_at=10), checkpoint=Checkpoint(path, "key"))
    wider = Toy()
    wider.modules["scale"] = nn.Linear(4, 4)
    with pytest.raises(FileError, match=r"scale\.weight"):
        run(wider, checkpoint=Checkpoint(path, "key"))


def test_an_optimisers_state_comes_back_exactly() -> None:
    one, other = Toy(), Toy()
    for number in range(3):
        one.step(number)
    for name, module in one.modules.items():
        other.modules[name].load_state_dict(module.state_dict())
        flat = optimizer_tensors(f"optimizer.{name}", one.optimizers[name])
        assert flat
        apart = {key: value.clone() for key, value in flat.items()}
        load_optimizer(Path("here"), f"optimizer.{name}", other.optimizers[name], apart)
    for task in (one, other):
        torch.manual_seed(0)
        task.step(3)
    assert all(torch.equal(v, other.weights()[k]) for k, v in one.weights().items())


def test_another_number_of_threads_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Checkpoint(tmp_path / "c.safetensors", "key")
    made.write({"w": torch.ones(2)}, {"next_step": 1})
    found = made.read()
    assert found is not None
    assert found[1] == {"key": "key", "next_step": 1}
    assert "threads" not in capsys.readouterr().err
    before = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: before + 1)
    made.read()
    assert f"with {before + 1} threads a run that had {before}" in capsys.readouterr().err
