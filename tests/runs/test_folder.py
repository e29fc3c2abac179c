from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.auditing import Audit, Worlds, audit
from fairgear.auditing.sums import read_sums
from fairgear.errors import FileError
from fairgear.evidence import file_hash
from fairgear.files import TEMPORARY, json_ready
from fairgear.runs.folder import AuditFolder
from tests.auditing.models import Constant, Everything, small_graph

FILES = {"audit.json", "people.parquet", "people.csv", "report.html", "model-card.md", "SHA256SUMS"}


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(small_graph(120), draws=1)


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return audit(Everything(), worlds, self_people=3)


@pytest.fixture(scope="module")
def constant(worlds: Worlds) -> Audit:
    """With measures that are undefined, and people who were not asked about."""
    return audit(Constant(), worlds, self_people=3, other_causal_models=False)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_what_is_written_is_read_again(everything: Audit, constant: Audit, tmp_path: Path) -> None:
    for one in (everything, constant):
        folder = AuditFolder(tmp_path / one.model.name)
        folder.write(one)
        again = Audit.load(folder.path)
        assert json.dumps(again.to_dict()) == json.dumps(one.to_dict())
        pd.testing.assert_frame_equal(again.people, one.people, check_exact=True)
        assert again.metrics.keys() == one.metrics.keys()
        assert again.notes == one.notes
        assert names(folder.path) == FILES


def test_what_was_read_can_be_compared_and_judged(
    everything: Audit, constant: Audit, tmp_path: Path
) -> None:
    folder = AuditFolder(tmp_path)
    folder.write(everything)
    again = Audit.load(folder.path)
    assert json_ready(again.compare(constant)) == json_ready(everything.compare(constant))
    conditions = ["delta_cf > 0.01", "r2.high > 0.1"]
    assert again.failures(*conditions) == everything.failures(*conditions)


def test_the_comparison_is_saved_with_the_audit(
    everything: Audit, constant: Audit, tmp_path: Path
) -> None:
    folder = AuditFolder(tmp_path)
    compared = replace(everything, comparison=everything.compare(constant))
    folder.write(compared)
    folder.against.write(constant)
    again = Audit.load(folder.path)
    assert json_ready(again.comparison) == json_ready(compared.comparison)
    assert again.to_dict() == compared.to_dict()
    other = Audit.load(folder.against.path)
    assert (other.model, other.comparison) == (constant.model, None)
    assert names(folder.path) == {*FILES, "against"}
    assert folder.card.read_text() == compared.model_card()
    assert folder.report.read_text().rstrip().endswith("</html>")


def test_the_folder_of_an_earlier_audit_is_ours(everything: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path / "new")
    folder.claim_for_audit()
    assert not folder.path.exists()
    folder.write(everything)
    folder.against.write(everything)
    left = folder.path / f".audit.x1y2.json{TEMPORARY}"
    left.write_text("half")
    folder.claim_for_audit()
    assert names(folder.path) == {*FILES, "against"}
    empty = AuditFolder(tmp_path / "empty")
    empty.path.mkdir()
    empty.claim_for_audit()


def test_other_peoples_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileError) as caught:
        AuditFolder(tmp_path).claim_for_audit()
    assert str(caught.value) == (
        f"output folder {tmp_path}: got other files in it, such as thesis.txt; allowed: a new or "
        "empty folder, or that of an earlier audit. Next: choose another --out."
    )
    with pytest.raises(FileError, match="not a directory"):
        AuditFolder(tmp_path / "thesis.txt").claim_for_audit()
    assert names(tmp_path) == {"thesis.txt"}


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 2, "model": {}}',
    ],
)
def test_what_is_no_audit_is_one_line(everything: Audit, tmp_path: Path, damage: str) -> None:
    folder = AuditFolder(tmp_path)
    folder.write(everything)
    folder.metrics.write_text(damage)
    with pytest.raises(FileError, match=r"^file [^\n]*/audit\.json: got other content"):
        Audit.load(folder.path)
    # Without hashes, as earlier versions left it.
    folder.sums.unlink()
    with pytest.raises(FileError) as caught:
        Audit.load(folder.path)
    assert str(caught.value) == (
        f"folder {tmp_path}: got no audit.json and people.parquet of this version of fairgear; "
        "allowed: the folder of a finished run or audit. Next: check the path, or run the command "
        "on that folder again."
    )


def test_a_lost_or_damaged_table_is_one_line(everything: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path)
    folder.write(everything)
    folder.people.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FileError, match=r"^file [^\n]*/people\.parquet: got other content"):
        Audit.load(folder.path)
    folder.sums.unlink()
    with pytest.raises(FileError, match=r"no audit\.json"):
        Audit.load(folder.path)
    folder.people.unlink()
    with pytest.raises(FileError, match=r"no audit\.json"):
        Audit.load(folder.path)


def test_the_json_comes_last(
    everything: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where anything else could not be written, nothing says that an audit is there."""

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for place in ("write_page", "model_card"):
        folder = AuditFolder(tmp_path / place)
        with monkeypatch.context() as patch:
            patch.setattr(f"fairgear.runs.folder.{place}", refuse)
            with pytest.raises(OSError, match="No space left"):
                folder.write(everything)
        assert not folder.metrics.exists()
        assert not list(tmp_path.rglob(f"*{TEMPORARY}"))
        folder.claim_for_audit()


def test_a_folder_of_somebody_is_never_taken_away(constant: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path)
    folder.against.path.mkdir()
    mine = folder.against.path / "thesis.txt"
    mine.write_text("mine")
    with pytest.raises(FileError, match=r"such as thesis\.txt"):
        folder.claim_for_audit()
    folder.write(constant)
    assert mine.read_text() == "mine"


def test_the_other_models_folder_goes_with_the_comparison(
    everything: Audit, constant: Audit, tmp_path: Path
) -> None:
    folder = AuditFolder(tmp_path)
    folder.against.write(constant)
    folder.write(replace(everything, comparison=everything.compare(constant)))
    folder.claim_for_audit()
    assert names(folder.against.path) == FILES
    folder.write(everything)
    assert not folder.against.path.exists()


@pytest.mark.parametrize("step", range(8))
def test_a_process_that_dies_while_it_writes_leaves_no_results_or_whole_ones(
    step: int, everything: Audit, constant: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file is put in place by a rename: the process dies before one of them."""
    folder = AuditFolder(tmp_path)
    folder.write(constant)
    renames = 0

    def replace_until(*paths: Any) -> None:
        nonlocal renames
        if renames == step:
            raise KeyboardInterrupt
        renames += 1
        os.rename(*paths)

    monkeypatch.setattr("fairgear.files.os.replace", replace_until)
    written = True
    try:
        folder.write(everything)
    except KeyboardInterrupt:
        written = False
    assert written == (step >= 6)
    assert folder.metrics.exists() == written
    if written:
        assert Audit.load(tmp_path).model == everything.model
        sums = {name: file_hash(tmp_path / name, "").sha256 for name in FILES - {"SHA256SUMS"}}
        assert read_sums(tmp_path) == sums
    monkeypatch.undo()
    folder.claim_for_audit()
    folder.write(everything)
    assert names(tmp_path) == FILES
