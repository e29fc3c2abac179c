from __future__ import annotations

import os

import pytest

from fairgear.caching import cache_folder
from fairgear.cli import main
from fairgear.distributed import process_group
from fairgear.environment import check_threads, whole_number
from fairgear.errors import FairgearError, ParameterError

FINE = {
    "TORCHELASTIC_RUN_ID": "1",
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_WORLD_SIZE": "1",
    "LOCAL_RANK": "0",
    "MASTER_PORT": "29500",
}
JUNK = ("x", "-1", "", "1.0", "1e3", " 1", "９", "9" * 5000, "\x1b[31m")


@pytest.mark.parametrize("junk", JUNK)
def test_a_whole_number(junk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBER", junk)
    with pytest.raises(ParameterError, match="environment variable NUMBER") as caught:
        whole_number("NUMBER", 0, 10, "correct it")
    assert str(caught.value).isprintable()
    monkeypatch.setenv("NUMBER", "10")
    assert whole_number("NUMBER", 0, 10, "correct it") == 10
    monkeypatch.delenv("NUMBER")
    with pytest.raises(ParameterError, match="got nothing"):
        whole_number("NUMBER", 0, 10, "correct it")


@pytest.mark.parametrize("name", [*FINE][1:])
@pytest.mark.parametrize("junk", [*JUNK, None])
def test_what_torchrun_sets(name: str, junk: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for known, value in FINE.items():
        monkeypatch.setenv(known, value)
    with process_group("cpu"):
        pass
    if junk is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, junk)
    with pytest.raises(FairgearError, match=f"environment variable {name}"), process_group("cpu"):
        raise AssertionError("never reached")


@pytest.mark.parametrize(("name", "value"), [("RANK", "2"), ("LOCAL_RANK", "1")])
def test_numbers_that_contradict_each_other(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known, one in (FINE | {"WORLD_SIZE": "2", name: value}).items():
        monkeypatch.setenv(known, one)
    with pytest.raises(FairgearError, match=name), process_group("cpu"):
        raise AssertionError("never reached")


@pytest.mark.parametrize("name", ["NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
@pytest.mark.parametrize("junk", ["x", "0", "-3"])
def test_threads(
    name: str, junk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check_threads()
    monkeypatch.setenv(name, junk)
    assert main(["methods", "list"]) == 2
    assert f"environment variable {name}" in capsys.readouterr().err


def test_folders_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRGEAR_CACHE", "~nobody-of-this-name/x")
    assert cache_folder().parts[-1] == "x"
    monkeypatch.setenv("FAIRGEAR_CACHE", "~/x")
    assert (
        cache_folder()
        == cache_folder().absolute()
        == type(cache_folder())(os.path.expanduser("~/x"))
    )
