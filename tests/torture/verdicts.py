"""What a trial may end with.

worked   the program did what was asked, and its results are those of an undisturbed one, to the bit
refused  status 2, or the documented one, and one line on stderr
resumed  after whatever happened the same command gave the undisturbed results, to the bit
failed   anything else
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fairgear.files import PARTIAL, TEMPORARY
from tests.hostile.inputs import STEERING

if TYPE_CHECKING:
    from tests.torture.program import Ended

WORKED, REFUSED, RESUMED, FAILED = "worked", "refused", "resumed", "failed"
# Characters of the line, and megabytes above what a process begins with.
LONGEST, MOST_MEMORY = 3000, 1000
# What holds times, the machine, or hashes of those.
_VOLATILE = ("report.html", "model-card.md", "SHA256SUMS", "README.txt")
_SHOWN = 200


class Failed(Exception):
    """What must not happen, happened."""


def must(condition: object, said: str) -> None:
    """Fail with these words unless it holds."""
    if not condition:
        raise Failed(said)


def answer(
    ended: Ended,
    statuses: Iterable[int] = (2,),
    *,
    most: int = MOST_MEMORY,
    lines: Container[int] = (1,),
) -> str:
    """`WORKED` or `REFUSED`; anything else is a failure.

    Args:
        ended: a process.
        statuses: with which it may refuse.
        most: megabytes that it may have had.
        lines: how many lines of error there may be; `fairgear data` says on stdout what is wrong.
    """
    said = ended.err[-_SHOWN:]
    must("Traceback" not in ended.err + ended.out, f"a traceback: …{said!r}")
    must(ended.status >= 0, f"ended by signal {-ended.status}: …{said!r}")
    must(ended.peak <= most, f"{ended.peak} MB of memory")
    for stream in (ended.out, ended.err):
        found = STEERING.search(stream.replace("\n", ""))
        must(not found, f"{found and found.group()!r} reaches the terminal")
    if ended.status == 0:
        return WORKED
    must(ended.status in statuses, f"status {ended.status}: …{said!r}")
    ours = [line for line in ended.err.splitlines() if line.startswith("fairgear: ")]
    must(len(ours) in lines, f"{len(ours)} lines of error: …{said!r}")
    must(ours == ended.err.splitlines()[-1:] or not ours, f"not the last line: …{said!r}")
    must(all(len(line) < LONGEST for line in ours), "a line without end")
    return REFUSED


def results(path: Path) -> dict[str, str]:
    """The content of a file, or of a folder's files, without what tells times and places."""
    if path.is_file():
        return {path.name: _digest(path)}
    found = {}
    key, codes = path / "key.json", dict[str, str]()
    if key.exists():
        # Worlds have random codes, from a secret that differs from export to export.
        # Files of data are named with the folder that they are in.
        held = json.loads(re.sub(r'"/[^"]*/([^"/]+)"', r'"\1"', key.read_text()))
        codes = {Path(world["path"]).stem: world["name"] for world in held["worlds"]}
        for world in held["worlds"]:
            del world["path"], world["scores"]
        worlds = sorted(held.pop("worlds"), key=lambda world: str(world["name"]))
        found["key.json"] = json.dumps({**held, "worlds": worlds, "secret": "", "sha256": ""})
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        for code in filter(name.__contains__, codes):
            name = name.replace(code, codes[code])
        if name in found or file.is_symlink() or file.is_dir() or file.name.startswith("."):
            continue
        if file.name == "audit.json":
            held = json.loads(file.read_text())
            held.pop("provenance")
            found[name] = json.dumps(held)
        elif file.name == "runs.csv":
            # Those of a comparison, with the seconds that each took.
            rows = csv.DictReader(file.read_text().splitlines())
            found[name] = str([{**row, "seconds": ""} for row in rows])
        else:
            found[name] = "there" if file.name in _VOLATILE else _digest(file)
    return found


def content(path: Path) -> dict[str, str]:
    """The hashes of all files below a folder."""
    return {
        file.relative_to(path).as_posix(): _digest(file)
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def same(found: dict[str, str], expected: dict[str, str], what: str = "results") -> None:
    """Fail unless both are alike."""
    differ = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    must(not differ, f"other {what}: {', '.join(differ)[:_SHOWN]}")


def sums_agree(folder: Path) -> None:
    """Fail unless a folder's SHA256SUMS are those of its files."""
    for path in [*folder.rglob("SHA256SUMS")]:
        for line in path.read_text().splitlines():
            digest, _, name = line.partition("  ")
            must(_digest(path.parent / name) == digest, f"SHA256SUMS of {name} does not agree")


def nothing_left(place: Path) -> None:
    """Fail where temporary files or folders are left."""
    left = [p.name for p in place.rglob("*") if p.name.endswith((TEMPORARY, PARTIAL))]
    # Python tries out its temporary folder with a file of eight letters.
    own = [path.name for path in (place / "tmp").glob("*")]
    left += [name for name in own if not re.fullmatch(r"[a-z0-9_]{8}", name)]
    must(not left, f"left behind: {', '.join(left)[:_SHOWN]}")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "gone"
