from __future__ import annotations

from pathlib import Path

import pytest

from fairgear.caching import cache_folder, keep
from fairgear.files import write_text


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRGEAR_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")


@pytest.mark.parametrize(
    ("settings", "folder"),
    [
        ({}, "/home/somebody/.cache/fairgear"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/fairgear"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/somebody/.cache/fairgear"),
        ({"XDG_CACHE_HOME": "/xdg", "FAIRGEAR_CACHE": "/own"}, "/own"),
        ({"FAIRGEAR_CACHE": "~/own"}, "/home/somebody/own"),
        ({"XDG_CACHE_HOME": "", "FAIRGEAR_CACHE": ""}, "/home/somebody/.cache/fairgear"),
    ],
)
def test_where_the_cache_is(
    settings: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


def test_somebody_without_a_home_has_no_cache_and_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", homeless)
    assert not keep(cache_folder() / "some" / "file", lambda path: write_text(path, "x"))
    assert capsys.readouterr().err.count("\n") == 1


def test_an_unwritable_cache_is_one_line_and_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    assert not keep(tmp_path / "taken" / "file", lambda path: write_text(path, "x"))
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "without a cache" in captured.err
    assert keep(tmp_path / "free" / "file", lambda path: write_text(path, "x"))
    assert (tmp_path / "free" / "file").read_text() == "x"
    assert capsys.readouterr().err == ""
