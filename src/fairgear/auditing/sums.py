"""SHA256SUMS: the hashes of a folder's files, in the format that `sha256sum -c` checks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from fairgear.errors import FileError
from fairgear.evidence import file_hash
from fairgear.files import write_text

SUMS = "SHA256SUMS"
# Of a line that is none, in a message.
_SHOWN = 40
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


def write_sums(folder: Path, names: Sequence[str], texts: Mapping[str, str]) -> None:
    """Write the hashes of the files `names`, and of files that will have the content `texts`."""
    found = {name: file_hash(folder / name, "").sha256 for name in names}
    found |= {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    _write(folder, found)


def read_sums(folder: Path) -> dict[str, str]:
    """The hashes by the name of their file, as they were written."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        got, allowed = f"no {SUMS} in it", "the folder of a finished run or audit"
        step = "check the path, or run the command on that folder again"
        raise FileError(f"folder {folder}", got, allowed, step) from error
    sums: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None or found[2] in sums:
            # Passed over, it would hide what became of its file.
            got = f"line {number}, {line[:_SHOWN]!r}"
            allowed = "in each line a SHA-256, two spaces and the name of another file"
            step = "restore it, or run the command on that folder again"
            raise FileError(f"file {folder / SUMS}", got, allowed, step)
        sums[found[2]] = found[1]
    return sums


def check_sums(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Refuse content of files that is not the one whose hash was written, where there are hashes.

    Folders of earlier versions have none.
    """
    if not (folder / SUMS).exists():
        return
    sums = read_sums(folder)
    for name, content in contents.items():
        if sums.get(name) != hashlib.sha256(content).hexdigest():
            got = f"other content than {SUMS} beside it says"
            allowed = "the file as it was written"
            step = "take it from where it was whole, or run the command on that folder again"
            raise FileError(f"file {folder / name}", got, allowed, step)


def renew_sums(folder: Path, *names: str) -> None:
    """Note that these files were written, or written again, if the folder has hashes."""
    if (folder / SUMS).exists():
        new = {name: file_hash(folder / name, "").sha256 for name in names}
        _write(folder, {**read_sums(folder), **new})


def _write(folder: Path, sums: Mapping[str, str]) -> None:
    write_text(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sums.items()))
