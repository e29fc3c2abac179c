"""The folder of a stored graph as others see it: what it says of itself. Imports no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairgear.errors import FileError

META = "meta.json"
KIND = "fairgear stored graph"
# Another number when the files of a folder change.
FORMAT = 1
_FACTS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "nodes": int,
    "edges": int,
    "feature_names": list,
    "sens_column": (int, type(None)),
    "sens_kind": str,
    "label_names": (list, type(None)),
    "sens_names": (list, type(None)),
    "masks": bool,
    "arrays": dict,
    "fingerprint": str,
}


def is_stored(path: Path | str) -> bool:
    """Whether it is the folder of a stored graph; a build that was cut short left none."""
    return (Path(path) / META).is_file()


def read_facts(folder: Path) -> dict[str, Any]:
    """What `meta.json` says."""
    try:
        facts = json.loads((folder / META).read_text(encoding="utf-8"))
        fine = isinstance(facts, dict) and facts.get("kind") == KIND
    except (OSError, ValueError):
        fine = False
    if not fine:
        raise FileError(
            f"folder {folder}",
            f"no {META} of a stored graph",
            "a folder that fairgear store wrote",
            "check the path, or build it with fairgear store",
        )
    if facts.get("format") != FORMAT or any(
        not isinstance(facts.get(key), kind) for key, kind in _FACTS.items()
    ):
        raise damaged(folder, f"a {META} of format {facts.get('format')}, or a damaged one")
    return dict(facts)


def damaged(folder: Path, got: str) -> FileError:
    """The error for a stored graph that is not as it was written."""
    return FileError(
        f"stored graph {folder}",
        got,
        f"files as fairgear store wrote them, format {FORMAT}",
        "build it again with fairgear store",
    )
