"""Whether the files of an audit, and those that it was made from, are still what they were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from fairgear.auditing import Audit
from fairgear.auditing.provenance import Provenance, source_commit
from fairgear.auditing.sums import SUMS, read_sums
from fairgear.datasets import download
from fairgear.errors import FileError
from fairgear.evidence import TRAINED, FileHash, file_hash
from fairgear.files import TEMPORARY
from fairgear.links.result import RESULTS, LinkAudit
from fairgear.report import model_card, render_links_page, render_page
from fairgear.runs.folder import AuditFolder, Folder, RunFolder
from fairgear.runs.link_folder import LinkFolder
from fairgear.version import installed_version

State = Literal["ok", "changed", "missing", "not listed", "not compared"]
WRONG: tuple[State, ...] = ("changed", "missing", "not listed")
RESULT, SHOWN, LINKS = "result", "as of audit.json", f"as of {RESULTS}"
# An audit of people or of links.
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class CheckedFile:
    """One file.

    Attributes:
        role: what it is to the audit.
        file: as it was named.
        recorded: its SHA-256 at that time.
        found: that of the file now; empty where there is none.
        state: whether the two are the same; "not listed" of a result without a hash.
        remark: why it was not compared, or where it was looked for.
    """

    role: str
    file: str
    recorded: str
    found: str
    state: State
    remark: str = ""


def verify(folder: Path, data: Path | None = None) -> list[CheckedFile]:
    """Compare the files of an audit and its inputs with the hashes that were recorded.

    Args:
        folder: of a finished run or audit.
        data: where to look for inputs in place of the working directory, under the same path or
            by their names alone.

    The page and the card are also made again from the results and compared, if this is the code
    that wrote them.
    """
    sums = read_sums(folder)
    found = [_compared(RESULT, name, digest, folder / name) for name, digest in sums.items()]
    links = LinkFolder(folder)
    if RESULTS in sums or links.metrics.exists():
        return _with_links(links, found, sums, data)
    ours = RunFolder(folder)
    found += _unlisted(ours, _written(ours), sums)
    try:
        audit = Audit.load(folder)
    except FileError:
        if all(one.state == "ok" for one in found):
            # Whole, and of another version.
            raise
        return found
    if audit.comparison is not None:
        found += _unlisted(ours, [*_written(ours.against), ours.against.sums], sums)
    known = audit.provenance
    if known is not None:
        found += _inputs(known, folder, data)
        found += [
            _shown(ours.report, SHOWN, audit, known, render_page),
            _shown(ours.card, SHOWN, audit, known, model_card),
        ]
    return found


def _with_links(
    ours: LinkFolder, found: list[CheckedFile], sums: Mapping[str, str], data: Path | None
) -> list[CheckedFile]:
    """The same of an audit of links."""
    found = found + _unlisted(ours, ours.files(), sums)
    try:
        audit = LinkAudit.load(ours.path)
    except FileError:
        if all(one.state == "ok" for one in found):
            raise
        return found
    known = audit.provenance
    if known is None:
        return found
    page = _shown(ours.report, LINKS, audit, known, render_links_page)
    return [*found, *_inputs(known, ours.path, data), page]


def _inputs(known: Provenance, folder: Path, data: Path | None) -> list[CheckedFile]:
    """What an audit was made from."""
    return [
        _compared(file.role, file.path, file.sha256, _place(file, folder, data))
        for file in known.files
    ]


def _written(folder: AuditFolder) -> list[Path]:
    """The files that every audit has, and those that it or a run may have, where they are."""
    files = [folder.report, folder.card, *folder.ll144_files]
    if isinstance(folder, RunFolder):
        files += [folder.config, folder.predictions, *sorted(folder.model.rglob("*"))]
    there = [file for file in files if file.is_file() and not file.name.endswith(TEMPORARY)]
    return [folder.metrics, folder.people, folder.people_csv, *there]


def _unlisted(folder: Folder, files: Iterable[Path], sums: Mapping[str, str]) -> list[CheckedFile]:
    """Those of the files that have no hash, so that nobody knows what they were."""
    named = {file.relative_to(folder.path).as_posix(): file for file in files}
    found = []
    for name, file in named.items():
        if name not in sums:
            now = _compared(RESULT, name, "", file)
            state: State = "missing" if now.state == "missing" else "not listed"
            found.append(replace(now, state=state, remark=f"not in {SUMS}"))
    return found


def _compared(role: str, name: str, recorded: str, path: Path) -> CheckedFile:
    try:
        digest = file_hash(path, role).sha256
    except FileNotFoundError:
        return CheckedFile(role, name, recorded, "", "missing", f"no file {path}")
    except OSError as error:
        return CheckedFile(role, name, recorded, "", "missing", (error.strerror or "").lower())
    return CheckedFile(role, name, recorded, digest, "ok" if digest == recorded else "changed")


def _place(file: FileHash, folder: Path, data: Path | None) -> Path:
    """Where an input should be now."""
    if file.role == TRAINED:
        return folder / file.path
    if data is not None:
        places = [data / file.path, data / Path(file.path).name]
        return next((place for place in places if place.is_file()), places[0])
    return download.local(file.path) if file.role == download.DATASET else Path(file.path)


def _shown(
    path: Path, role: str, audit: Shown, known: Provenance, render: Callable[[Shown], str]
) -> CheckedFile:
    """Whether a page is what the same code makes of the results."""
    if not path.is_file():
        return CheckedFile(role, path.name, "", "", "missing")
    code = (known.version, known.commit)
    if code != (installed_version(), source_commit()):
        remark = f"written by fairgear {' '.join(filter(None, code))}"
        return CheckedFile(role, path.name, "", "", "not compared", remark)
    try:
        same = path.read_bytes() == render(audit).encode()
    except OSError:
        return CheckedFile(role, path.name, "", "", "missing")
    return CheckedFile(role, path.name, "", "", "ok" if same else "changed")
