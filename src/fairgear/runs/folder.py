"""The folders of an audit and of a run: what they hold, and whether they may be used."""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import yaml

from fairgear.auditing.result import PEOPLE, PEOPLE_CSV, RESULTS, Audit
from fairgear.auditing.sums import SUMS, write_sums
from fairgear.errors import FileError
from fairgear.files import (
    TEMPORARY,
    create,
    holding,
    remove_leftovers,
    write_errors,
    write_text,
    writes,
)
from fairgear.report import model_card, write_page
from fairgear.runs.config import RunConfig, read_yaml
from fairgear.settings import Config

AGAINST = "against"


class Folder:
    """A folder that a command fills, and the settings with which it was begun."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.checkpoint = self.path / "checkpoint"

    def begun(self) -> bool:
        """Whether there is anything in it."""
        return bool(self._entries())

    def claim(self, config: Config) -> None:
        """Make the folder ours: new, empty, or begun with the same settings."""
        text = yaml.safe_dump(config.to_dict(), sort_keys=False)
        # Of commands that begin at once, one creates the file; the others read it.
        fresh = not self._entries() and create(self.config, text.encode())
        before = config.to_dict() if fresh else None
        if not fresh and self.config.exists():
            before = read_yaml(self.config)
        if before != config.to_dict():
            allowed = "a new or empty folder, or a run with the same settings to resume"
            step = "choose another --out, or remove that folder"
            got = _found(before, config.to_dict())
            raise FileError(f"output folder {self.path}", got, allowed, step)
        # Those of another's run are none of ours.
        remove_leftovers(self.path)

    def alone(self) -> AbstractContextManager[None]:
        """No other command may work in the folder meanwhile; it must be claimed."""
        return holding(self.config)

    def clear_checkpoint(self) -> None:
        """Remove the checkpoint, once the results are saved."""
        if writes():
            shutil.rmtree(self.checkpoint, ignore_errors=True)

    def _entries(self) -> list[Path]:
        try:
            entries = list(self.path.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            got = str(error.strerror or error).lower()
            allowed = "a folder that can be read and written"
            what = f"output folder {self.path}"
            raise FileError(what, got, allowed, "choose another --out") from error
        return [entry for entry in entries if not entry.name.endswith(TEMPORARY)]


class AuditFolder(Folder):
    """`audit.json`, people as Parquet and CSV, `report.html`, `model-card.md` and `SHA256SUMS`."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.metrics = self.path / RESULTS
        self.people = self.path / PEOPLE
        self.people_csv = self.path / PEOPLE_CSV
        self.sums = self.path / SUMS
        self.report = self.path / "report.html"
        self.card = self.path / "model-card.md"
        self.ll144 = self.path / "ll144.md"

    @property
    def against(self) -> AuditFolder:
        """The folder of the model that this one is compared with."""
        return AuditFolder(self.path / AGAINST)

    def write(self, audit: Audit, against: Audit | None = None) -> None:
        """Write all files, of the audit that it is compared with too.

        `audit.json` comes last, so that it implies the others. Commands that write the same folder
        do so one after the other.
        """
        if not writes():
            return self._write(audit, against)
        with write_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        with holding(self.path, wait=True):
            self._write(audit, against)

    def _write(self, audit: Audit, against: Audit | None) -> None:
        if against is not None:
            self.against.write(against)
        if writes():
            self.metrics.unlink(missing_ok=True)
            # Those of an earlier audit: they are written where they are asked for.
            for file in self.ll144_files:
                file.unlink(missing_ok=True)
            if audit.comparison is None:
                self.against.remove()
        write_page(audit, self.report)
        write_text(self.card, model_card(audit))
        other = [] if audit.comparison is None else self.against.listed()
        audit.save(self.path, beside=[*self.complete(), *(f"{AGAINST}/{name}" for name in other)])

    def complete(self) -> list[str]:
        """The names of its files that are complete before its results are written."""
        return [self.report.name, self.card.name]

    def listed(self) -> list[str]:
        """The names of all its files, where its results are written."""
        names = [self.metrics.name, self.people.name, self.people_csv.name, *self.complete()]
        return [*names, self.sums.name] if self.metrics.exists() else []

    def claim_for_audit(self) -> None:
        """Refuse a folder that holds anything except an earlier audit, before any work is done."""
        ours = {file.name for file in self._files()}
        other = sorted(entry.name for entry in self._entries() if entry.name not in ours)
        if AGAINST in other and self.against.path.is_dir():
            # A user's own folder may have that name too.
            self.against.claim_for_audit()
            other.remove(AGAINST)
        if other:
            got = f"other files in it, such as {other[0]}"
            allowed = "a new or empty folder, or that of an earlier audit"
            raise FileError(f"output folder {self.path}", got, allowed, "choose another --out")
        remove_leftovers(self.path)

    def remove(self) -> None:
        """Remove our files, and the folder if nothing else is in it."""
        for file in self._files():
            file.unlink(missing_ok=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _files(self) -> tuple[Path, ...]:
        own = (self.metrics, self.people, self.people_csv, self.report, self.card, self.sums)
        return (*own, *self.ll144_files)

    @property
    def ll144_files(self) -> tuple[Path, Path]:
        """The tables of Local Law 144, where they were asked for."""
        return self.ll144, self.ll144.with_suffix(".csv")


class RunFolder(AuditFolder):
    """The folder of an audit with `config.yaml`, `predictions.parquet` and `model/`."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.predictions = self.path / "predictions.parquet"
        self.model = self.path / "model"

    def complete(self) -> list[str]:
        """Of a run also its settings, its predictions and its model."""
        model = sorted(path for path in self.model.rglob("*") if path.is_file())
        paths = [self.config, self.predictions, *model]
        return [*super().complete(), *(path.relative_to(self.path).as_posix() for path in paths)]

    def is_of(self, config: RunConfig, *, on_any_device: bool = False) -> bool:
        """Whether it is new, or was begun with the same settings."""
        if not self.begun():
            return True
        if not self.config.exists():
            return False
        before, now = read_yaml(self.config), config.to_dict()
        if on_any_device:
            before, now = ({**one, "device": None} for one in (before, now))
        return before == now

    def results(self, *, people: bool = True) -> Audit | None:
        """What was written, with or without the table of people; None where that is damaged."""
        try:
            return Audit.load(self.path, people=people)
        except FileError:
            return None

    def keep_results_alone(self) -> None:
        """Remove everything except the settings, `audit.json`, and the hashes of both."""
        for folder in (self.model, self.checkpoint):
            shutil.rmtree(folder, ignore_errors=True)
        kept = (self.metrics, self.config)
        if not writes():
            return
        for file in (self.predictions, *self._files()):
            if file not in (*kept, self.sums):
                file.unlink(missing_ok=True)
        write_sums(self.path, [file.name for file in kept if file.exists()], {})


def _found(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    """Why a folder cannot be used."""
    if before is None:
        return "no run of fairgear"
    differs = _first_difference(before, now)
    if differs.startswith("data.sha256 "):
        return f"a run on {now['dataset']} before its content changed"
    return f"a run with other settings ({differs})"


def _first_difference(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> str:
    for key in other:
        before, now = one.get(key), other[key]
        if isinstance(before, dict) and isinstance(now, dict):
            inner = _first_difference(before, now, f"{prefix}{key}.")
            if inner:
                return inner
        elif before != now:
            return f"{prefix}{key} was {before!r}, now {now!r}"
    return ""
