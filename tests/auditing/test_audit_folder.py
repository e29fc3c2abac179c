from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.auditing import Audit, AuditFolder, Worlds, audit_in
from fairgear.errors import FileError
from fairgear.files import TEMPORARY
from tests.auditing.models import Constant, Everything, small_graph

FILES = {"audit.json", "people.parquet", "audit.html", "model-card.md"}


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(small_graph(120), draws=1)


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return audit_in(worlds, Everything(), self_people=3)


@pytest.fixture(scope="module")
def constant(worlds: Worlds) -> Audit:
    """With measures that are undefined, and people who were not asked about."""
    return audit_in(worlds, Constant(), self_people=3, other_causal_models=False)


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_what_is_written_is_read_again(everything: Audit, constant: Audit, tmp_path: Path) -> None:
    for one in (everything, constant):
        folder = AuditFolder(tmp_path / one.model["name"])
        folder.write(one)
        again = folder.read()
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
    again = folder.read()
    assert again.compare(constant).to_dict() == everything.compare(constant).to_dict()
    conditions = ["delta_cf > 0.01", "r2.high > 0.1"]
    assert again.failures(*conditions) == everything.failures(*conditions)


def test_the_json_holds_the_comparison_and_where_it_comes_from(
    everything: Audit, constant: Audit, tmp_path: Path
) -> None:
    folder = AuditFolder(tmp_path)
    comparison = everything.compare(constant)
    facts = folder.write(everything, against=comparison, provenance={"seed": 0})
    folder.against.write(constant)
    found = json.loads(folder.json.read_text())
    assert found == json.loads(json.dumps(facts))
    assert found["comparison"] == json.loads(json.dumps(comparison.to_dict()))
    assert found["provenance"] == {"seed": 0}
    assert {key: found[key] for key in everything.to_dict()} == json.loads(
        json.dumps(everything.to_dict())
    )
    assert json.loads(folder.against.json.read_text())["comparison"] is None
    assert folder.read().model == everything.model
    assert folder.against.read().model == constant.model
    assert names(folder.path) == {*FILES, "against"}
    assert folder.card.read_text()
    assert folder.page.read_text().rstrip().endswith("</html>")


def test_the_folder_of_an_earlier_audit_is_ours(everything: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path / "new")
    folder.claim()
    assert not folder.path.exists()
    folder.write(everything)
    folder.against.write(everything)
    left = folder.path / f".audit.x1y2.json{TEMPORARY}"
    left.write_text("half")
    folder.claim()
    assert names(folder.path) == {*FILES, "against"}
    empty = AuditFolder(tmp_path / "empty")
    empty.path.mkdir()
    empty.claim()


def test_other_peoples_folders_are_not(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileError) as caught:
        AuditFolder(tmp_path).claim()
    assert str(caught.value) == (
        f"output folder {tmp_path}: got other files in it, such as thesis.txt; allowed: a new or "
        "empty folder, or that of an earlier audit. Next: choose another --out."
    )
    with pytest.raises(FileError, match="not a directory"):
        AuditFolder(tmp_path / "thesis.txt").claim()
    assert names(tmp_path) == {"thesis.txt"}


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "[]",
        "{}",
        '{"model": {}}',
        '{"model": {"name": "a", "kind": "b", "threshold": 0.5, "sight": {"sees": 1}}}',
    ],
)
def test_what_is_no_audit_is_one_line(everything: Audit, tmp_path: Path, damage: str) -> None:
    folder = AuditFolder(tmp_path)
    folder.write(everything)
    folder.json.write_text(damage)
    with pytest.raises(FileError) as caught:
        folder.read()
    assert str(caught.value) == (
        f"audit folder {tmp_path}: got no audit.json and people.parquet of an audit in it; "
        "allowed: a folder that fairgear audit wrote. Next: check the path, or audit again."
    )


def test_a_lost_or_damaged_table_is_one_line(everything: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path)
    folder.write(everything)
    folder.people.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FileError, match="audit folder"):
        folder.read()
    folder.people.unlink()
    with pytest.raises(FileError, match="audit folder"):
        folder.read()


def test_the_json_comes_last(
    everything: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where anything else could not be written, nothing says that an audit is there."""

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for place in ("write_audit", "model_card"):
        folder = AuditFolder(tmp_path / place)
        with monkeypatch.context() as patch:
            patch.setattr(f"fairgear.auditing.audit_folder.{place}", refuse)
            with pytest.raises(OSError, match="No space left"):
                folder.write(everything)
        assert not folder.json.exists()
        assert not any(name.endswith(TEMPORARY) for name in names(folder.path))
        folder.claim()


def test_a_folder_of_somebody_is_never_taken_away(constant: Audit, tmp_path: Path) -> None:
    folder = AuditFolder(tmp_path)
    folder.against.path.mkdir()
    mine = folder.against.path / "thesis.txt"
    mine.write_text("mine")
    with pytest.raises(FileError, match=r"such as thesis\.txt"):
        folder.claim()
    folder.write(constant)
    assert mine.read_text() == "mine"


def test_the_other_models_folder_goes_with_the_comparison(
    everything: Audit, constant: Audit, tmp_path: Path
) -> None:
    folder = AuditFolder(tmp_path)
    folder.against.write(constant)
    folder.write(everything, against=everything.compare(constant))
    folder.claim()
    assert names(folder.against.path) == FILES
    folder.write(everything)
    assert not folder.against.path.exists()
