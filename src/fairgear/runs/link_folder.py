"""The folder of `fairgear links`: an audit of links, its tables, and what was trained."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from fairgear.auditing.people_csv import write_people_csv
from fairgear.auditing.sums import SUMS
from fairgear.errors import FileError
from fairgear.files import writes
from fairgear.links.result import PAIRS, RESULTS, LinkAudit, Lists, PersonLists, WorldList
from fairgear.report.links_page import write_links_page
from fairgear.runs.folder import Folder


class LinkFolder(Folder):
    """`links.json`, pairs as Parquet and CSV, lists as CSV, `report.html` and `SHA256SUMS`."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.metrics = self.path / RESULTS
        self.pairs = self.path / PAIRS
        self.pairs_csv = self.path / "pairs.csv"
        self.lists_csv = self.path / "lists.csv"
        self.sums = self.path / SUMS
        self.report = self.path / "report.html"
        self.model = self.path / "model"

    def files(self) -> list[Path]:
        """Those that there must be, and those of a model."""
        own = [self.metrics, self.pairs, self.pairs_csv, self.lists_csv, self.report, self.config]
        return [*own, *self._model_files()]

    def write(self, audit: LinkAudit) -> None:
        """Write all files; `links.json` comes last, so that it implies the others."""
        if writes():
            self.metrics.unlink(missing_ok=True)
        write_links_page(audit, self.report)
        # Labels are predicted links, not the classes of people.
        names = replace(audit.names, classes=())
        write_people_csv(audit.pairs, names, self.pairs_csv)
        write_people_csv(lists_table(audit.lists), names, self.lists_csv)
        beside = [self.report, self.pairs_csv, self.lists_csv, self.config, *self._model_files()]
        audit.save(self.path, beside=[one.relative_to(self.path).as_posix() for one in beside])
        self.clear_checkpoint()

    def _model_files(self) -> list[Path]:
        return sorted(path for path in self.model.rglob("*") if path.is_file())

    def results(self) -> LinkAudit | None:
        """What was written; None where that is damaged, or not complete."""
        try:
            return LinkAudit.load(self.path)
        except FileError:
            return None

    def clear_model(self) -> None:
        """Remove a model that is not complete."""
        if writes():
            shutil.rmtree(self.model, ignore_errors=True)


def lists_table(lists: Lists | None) -> pd.DataFrame:
    """Some people's lists as they are and in other worlds, a row for each place."""
    rows = [row for one in (lists.people if lists else ()) for row in _places(one)]
    columns = ["person", "group", "world", "rank", "listed", "group_listed", "score", "entered"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype(dict.fromkeys(("group", "rank", "group_listed"), np.int64))


def _places(one: PersonLists) -> Iterator[tuple[object, ...]]:
    for world in (WorldList("factual", one.factual, (), ()), *one.worlds):
        for rank, other in enumerate(world.listed, start=1):
            listed = (rank, other.person, other.group, other.score, other.person in world.entered)
            yield (one.person, one.group, world.intervention, *listed)
