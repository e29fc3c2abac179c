"""The crash harness in small, and that it finds what is broken."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture import rows
from tests.torture.broken import BROKEN
from tests.torture.engine import chosen, made
from tests.torture.kinds import KINDS, WORDS
from tests.torture.shared import Shared
from tests.torture.trial import Bench, Row, Trial, Work
from tests.torture.verdicts import FAILED, REFUSED, RESUMED, WORKED, Failed, must

NEEDED = ("run", "audit", "report", "run gear", "run stored", "audit of a command")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_SECONDS_BETWEEN", "_TIMES_WRITING"):
            patch.setattr(f"fairgear.training.checkpoints.{name}", 0.0)
        found = Shared(tmp_path_factory.mktemp("torture"))
        found.prepare(NEEDED)
        yield found


def ended(shared: Shared, work: Work, kind: str = "kind") -> Row:
    (row,) = made([(kind, Trial("one", work))], shared, 0, 1)
    return row


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_defect_is_found(kind: str, shared: Shared) -> None:
    """And nothing is found where there is none, so that it is the defect that was found."""
    trial, defect = BROKEN[kind]
    before = ended(shared, trial(shared))
    assert before.verdict != FAILED, before.said
    with pytest.MonkeyPatch.context() as patch:
        defect(patch)
        after = ended(shared, trial(shared))
    assert after.verdict == FAILED
    assert "the trial itself" not in after.said


def _crash(bench: Bench) -> str:
    raise ZeroDivisionError


def _says_nothing(bench: Bench) -> str:
    return ""


def _refused(bench: Bench) -> str:
    raise Failed("it must not")


@pytest.mark.parametrize("work", [_crash, _says_nothing, _refused])
def test_a_trial_without_a_verdict_has_failed(work: Work, shared: Shared) -> None:
    assert ended(shared, work).verdict == FAILED


def test_rows_are_kept_and_counted(tmp_path: Path) -> None:
    made_up = [
        Row("kills", f"t, {i}", v, 0.5, 3, "") for i, v in enumerate((WORKED, REFUSED, FAILED))
    ]
    made_up.append(Row("disks", "t", RESUMED, 1, 3, "said"))
    rows.write(tmp_path / "r.csv", made_up)
    assert rows.read(tmp_path / "r.csv") == made_up
    table = rows.table(made_up, WORDS).splitlines()
    assert table[2].split("|")[2:8] == [" 3 ", " 1 ", " 1 ", " 0 ", " 1 ", " 2 "]
    assert table[-1].split("|")[2:8] == [" 4 ", " 1 ", " 1 ", " 1 ", " 1 ", " 2 "]


def test_a_seed_chooses_the_trials(shared: Shared) -> None:
    _, listed = KINDS["documents"]

    def names(seed: int) -> list[str]:
        draw = random.Random(seed)
        return [trial.name for trial in chosen(listed(shared, draw), 9, draw)]

    assert names(0) == names(0)
    assert names(0) != names(1)
    must(len(names(0)) == 9, "as many as were asked for")
