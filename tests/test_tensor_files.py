from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from fairgear import tensor_files
from fairgear.errors import FileError
from fairgear.tensor_files import read_tensors, write_tensors
from tests.hostile.storage import DAMAGE, flipped, no_file_above

TENSORS = {
    "a": torch.arange(12.0).reshape(3, 4),
    "b": torch.tensor(True),
    "c": torch.arange(5, dtype=torch.bfloat16),
    "d": torch.zeros(0, 3),
    "e": torch.ones(1, dtype=torch.float64).expand(1),
    "f": torch.tensor(2.5, dtype=torch.float64).expand(1),
}
FACTS = {"steps": [1, 2.5], "name": "Ω", "inner": {"a": None}}


def test_any_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, TENSORS, FACTS)
    whole, refused = path.read_bytes(), 0
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(bytes(content))
        try:
            tensors, facts = read_tensors(path)
        except FileError:
            refused += 1
            continue
        # A bit in the name of the checksum, or in the space after the header.
        assert {name: facts[name] for name in FACTS} == FACTS
        assert all(torch.equal(tensors[name], value) for name, value in TENSORS.items())
    assert refused > 0.97 * len(whole)


@pytest.mark.parametrize("name", [name for name in DAMAGE if name != "a link"])
def test_damage_is_named_with_the_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, TENSORS, FACTS)
    DAMAGE[name](path)
    with pytest.raises(FileError, match=r"cannot read .*w\.safetensors"):
        read_tensors(path)


def test_a_file_is_compared_once_in_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, compared = tmp_path / "w.safetensors", list[object]()
    write_tensors(path, TENSORS, FACTS)
    time.sleep(0.03)
    digest = tensor_files._digest

    def counted(*args: Any) -> str:
        compared.append(args)
        return digest(*args)

    monkeypatch.setattr(tensor_files, "_digest", counted)
    read_tensors(path)
    read_tensors(path)
    assert len(compared) == 1
    before = path.stat()
    flipped(path, 1)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(FileError, match="other content"):
        read_tensors(path)


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    save_file({"a": TENSORS["a"]}, tmp_path / "w", metadata={"fairgear": '{"key": 1}'})
    tensors, facts = read_tensors(tmp_path / "w")
    assert facts == {"key": 1}
    assert torch.equal(tensors["a"], TENSORS["a"])


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_tensors(path, TENSORS, FACTS)
    before = path.read_bytes()
    with no_file_above(4096), pytest.raises(FileError, match=r"cannot write .*w\.safetensors"):
        write_tensors(path, {"a": torch.zeros(10_000)}, FACTS)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    for name in "ab":
        write_tensors(tmp_path / name, TENSORS, FACTS)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
