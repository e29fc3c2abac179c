"""The page on releases says which formats the readers accept."""

from __future__ import annotations

import re
from pathlib import Path

from fairgear import code_cache
from fairgear.auditing import result
from fairgear.auditing.exchange import manifest
from fairgear.graph.stored import folder
from fairgear.graph.tables import encoding
from fairgear.methods import saved

PAGE = Path(__file__).parents[2] / "docs" / "development" / "releasing.md"


def test_the_formats_are_those_of_the_code() -> None:
    said = [int(number) for number in re.findall(r"^\|[^|]+\| (\d+) \|", PAGE.read_text(), re.M)]
    assert said == [
        saved.FORMAT,
        result.FORMAT,
        manifest.FORMAT,
        folder.FORMAT,
        encoding._FORMAT,
        code_cache._FORMAT,
    ]
