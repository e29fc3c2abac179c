"""The commit that the rows of a run name."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgear.auditing import provenance
from fairgear.auditing.provenance import COMMIT, source_commit


def commit_now() -> str:
    """Asked anew: a process asks once."""
    source_commit.cache_clear()
    return source_commit()


@pytest.fixture
def forgotten() -> Iterator[None]:
    yield
    source_commit.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_the_commit_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMIT, "abc")
    assert commit_now() == "abc"


@pytest.mark.usefixtures("forgotten")
def test_the_commit_of_a_checkout_has_a_star_once_files_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(COMMIT, raising=False)
    source = tmp_path / "src" / "fairgear" / "auditing" / "provenance.py"
    source.parent.mkdir(parents=True)
    source.write_text("1")
    monkeypatch.setattr(provenance, "__file__", str(source))
    assert commit_now() == "", "no checkout"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    full = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    short = commit_now()
    assert len(short) >= 7
    assert full.stdout.startswith(short)
    (tmp_path / "rows.csv").write_text("what runs have given is no code")
    assert commit_now() == short
    source.write_text("2")
    assert source_commit() == short, "the code that is loaded is the one of before"
    assert commit_now() == f"{short}*"
