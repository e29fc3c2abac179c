"""What fuzzing found stays found, and fuzzing finds what is not answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairgear.errors import FairgearError
from tests.torture.fuzz.targets import CRASHES, TARGETS, answers, fuzzed

KEPT = sorted(path for path in CRASHES.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name[:12]}")
def test_what_was_found_is_answered(path: Path) -> None:
    fuzzed(path.parent.name.replace("-", " "))(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_answers_what_it_begins_with(name: str) -> None:
    for content in (*TARGETS[name][2], b"", b"\0\xff\xfe", b"[" * 3000):
        fuzzed(name)(content)


def _breaks(content: bytes) -> None:
    raise TypeError("a slip")


def _steers(content: bytes) -> None:
    error = FairgearError("", "", "", "")
    error.args = ("\x1b[31m",)
    raise error


@pytest.mark.parametrize("read", [_breaks, _steers])
def test_what_is_no_answer_is_found(read: object) -> None:
    with pytest.raises((TypeError, AssertionError)):
        answers(b"", read, FairgearError)  # type: ignore[arg-type]
