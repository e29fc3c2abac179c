"""`fairgear cache`: what is kept so that it need not be made or fetched again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.caching import CachedFile, CachePart, cache_parts
from fairgear.cli.completers import one_of
from fairgear.cli.flags import Flag, examples
from fairgear.cli.output import Json, print_json, print_table, say
from fairgear.datasets.names import FILES
from fairgear.errors import ParameterError

PARTS = ("datasets", "edges", "compiled", "verified")
Part = Annotated[str, Parameter(completer=one_of(*PARTS))]

cache_app = App(
    name="cache",
    help="What is kept so that it need not be made or fetched again; clear it.",
    help_epilogue=examples(
        "fairgear cache list",
        "fairgear cache clear compiled edges",
        "fairgear cache clear --all",
    ),
)


@cache_app.command(name="list")
def list_cache(*, json: Json = False) -> None:
    """List the parts of the cache: files, size and age."""
    now = time.time()
    found = [(part, part.files()) for part in cache_parts(FILES)]
    if json:
        print_json({"cache": [described(part, files, now) for part, files in found]})
        return
    rows = [
        (part.name, part.what, len(files), shown_size(_total(files)), _ages(files, now))
        for part, files in found
    ]
    print_table("Cache", ("part", "what it is", "files", "size", "age"), rows)
    for folder in dict.fromkeys(str(part.folder.parent) for part, _ in found):
        say(f"Below {folder}")


@cache_app.command(name="clear")
def clear(*parts: Part, all: Flag = False, json: Json = False) -> None:
    """Remove cached files; what is needed again is made or fetched again.

    Files that fairgear did not write stay, and so do those that a running command reads.

    Parameters
    ----------
    parts
        datasets, edges, compiled or verified.
    all
        All of them.
    """
    known = cache_parts(FILES)
    allowed = f"{', '.join(PARTS)}, or --all"
    for name in parts:
        if name not in PARTS:
            raise ParameterError("PARTS", repr(name), allowed, "see fairgear cache list")
    if bool(parts) == all:
        got = "parts and --all" if all else "nothing"
        raise ParameterError("PARTS", got, allowed, "name what to clear")
    done = [(part, *part.clear()) for part in known if all or part.name in parts]
    if json:
        cleared = [
            {
                "part": part.name,
                "removed": len(removed),
                "bytes": _total(removed),
                "in_use": [str(file.path) for file in stay],
            }
            for part, removed, stay in done
        ]
        print_json({"cleared": cleared})
        return
    for part, removed, stay in done:
        files = "1 file" if len(removed) == 1 else f"{len(removed)} files"
        line = f"{part.name}: {files}, {shown_size(_total(removed))} removed"
        say(line + (f"; {len(stay)} in use or not yours, kept" if stay else ""))


def described(part: CachePart, files: Sequence[CachedFile], now: float) -> dict[str, object]:
    """A part of the cache for JSON."""
    ages = [now - file.modified for file in files]
    return {
        "part": part.name,
        "folder": str(part.folder),
        "files": len(files),
        "bytes": _total(files),
        "oldest_seconds": round(max(ages)) if ages else None,
        "newest_seconds": round(min(ages)) if ages else None,
    }


def _total(files: Sequence[CachedFile]) -> int:
    return sum(file.size for file in files)


def shown_size(size: float) -> str:
    """Bytes with a unit of a thousand, as disks are sold."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    whole = units[0] == "B" or size >= 100
    return f"{size:.{0 if whole else 1}f} {units[0]}"


def shown_age(seconds: float) -> str:
    """In the largest unit of which there are two, rounded down."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count >= 2:
            return f"{count} {unit}s"
    return "a minute" if seconds >= 60 else "under a minute"


def _ages(files: Sequence[CachedFile], now: float) -> str:
    if not files:
        return "none"
    ages = [max(0.0, now - file.modified) for file in files]
    newest, oldest = shown_age(min(ages)), shown_age(max(ages))
    return oldest if newest == oldest else f"{newest} to {oldest}"
