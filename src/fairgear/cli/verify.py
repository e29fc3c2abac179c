"""`fairgear audit verify`: whether the files of an audit are still what they were."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from fairgear.cli.audit import audit_app
from fairgear.cli.output import Json, print_json, print_table, say


class NotVerified(Exception):
    """A file is missing, has no hash, or is another one than when it was hashed: exit status 3."""


@audit_app.command
def verify(folder: Path, /, *, data: Path | None = None, json: Json = False) -> None:
    """Compare the files of an audit or a run, and what it was made from, with their SHA-256.

    Exit status 3 if a file has changed, is missing, or is not in SHA256SUMS.

    Parameters
    ----------
    folder
        That the run or the audit wrote.
    data
        Where tables, models and scripts are now. [default: the working
        directory; datasets of fairgear where it finds them]
    """
    from fairgear.runs.verify import WRONG
    from fairgear.runs.verify import verify as verified

    found = verified(folder, data)
    wrong = [one for one in found if one.state in WRONG]
    if json:
        print_json({"verified": not wrong, "files": [asdict(one) for one in found]})
    else:
        rows = [
            (
                one.file,
                one.role,
                one.recorded[:12],
                one.found[:12],
                f"{one.state}: {one.remark}" if one.remark else one.state,
            )
            for one in found
        ]
        columns = ("file", "what", "recorded", "found", "")
        print_table(f"{folder}: SHA-256, first 12 of 64 digits", columns, rows)
        said = f"{len(wrong)} changed, missing or not listed" if wrong else "all as they were"
        say(f"{len(found)} files compared: {said}.")
    if wrong:
        raise NotVerified
