"""Scores of pairs that somebody computed: a table of source, target and score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairgear.auditing.exchange.given_scores import known_rows
from fairgear.auditing.people import person_name
from fairgear.column_names import listed
from fairgear.errors import FileError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.formats import read_cells, read_parquet
from fairgear.graph.tables.identity import Identity
from fairgear.graph.tables.spellings import read_column
from fairgear.graph.tables.values import numbers_of, spelled
from fairgear.links.adapters import AuditedLinks
from fairgear.links.base import PairScorer
from fairgear.links.pairs import pair_keys
from fairgear.metrics.inputs import Floats, Integers

COLUMNS = ("source", "target", "score")
NOTES = (
    "Scores of pairs as they are say nothing about other worlds or lists: what would change with "
    "the attribute was not measured. Audit the model itself.",
)


class PairTable:
    """Scores by pair of people of a graph.

    Args:
        table: with the columns source, target and score, source and target by id or name.
        graph: whose people they are; unless it is directed, the order of a pair is no matter.
        what: names the table in messages.
        delimiter: of the file it was read from.
        numbered: whether source and target are `node_id` whatever people are called.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        graph: SensitiveGraph,
        what: str,
        delimiter: str = ",",
        *,
        numbered: bool = False,
    ) -> None:
        self._graph, self._what, self._numbered = graph, what, numbered
        table = table.rename(columns=str)
        missing = [name for name in COLUMNS if name not in table]
        if missing:
            got = f"the columns {listed(map(str, table))}" if len(table.columns) else "no columns"
            raise self._unfit(got, "name the columns source, target and score")
        score = table["score"]
        if score.dtype == object or pd.api.types.is_string_dtype(score):
            score = read_column(score.astype(str), delimiter, coded=False).values
        values = numbers_of(score, f"column 'score' of {what}", "write a number in every line")
        ends = np.stack([self._rows(table[name]) for name in COLUMNS[:2]])
        keys = self._keys(torch.from_numpy(ends))
        order = np.argsort(keys, kind="stable")
        self._key, self._value = keys[order], np.asarray(values, dtype=np.float64)[order]
        twice = int((np.diff(self._key) == 0).sum())
        if twice:
            raise self._unfit(f"{twice} repeated pairs", "write each pair once")

    @property
    def ends(self) -> Tensor:
        """The pairs (2, m) that have a score; unless they are arcs, the lower row first."""
        n = len(self._graph.x)
        return torch.from_numpy(np.stack([self._key // n, self._key % n]))

    def of(self, ends: Tensor) -> Floats:
        """The scores of pairs of rows (2, m); NaN where there is none."""
        keys = self._keys(ends)
        if not len(self._key):
            return np.full(len(keys), np.nan)
        place = np.searchsorted(self._key, keys).clip(max=len(self._key) - 1)
        found: Floats = np.where(self._key[place] == keys, self._value[place], np.nan)
        return found

    def _keys(self, ends: Tensor) -> Integers:
        found: Integers = pair_keys(
            ends.cpu(), len(self._graph.x), directed=self._graph.directed
        ).numpy()
        return found

    def _rows(self, column: pd.Series) -> Integers:
        texts = pd.Series(
            ["" if gone else spelled(one) for one, gone in zip(column, column.isna(), strict=True)],
            dtype=object,
        )
        rows = self._known(texts)
        strange = np.flatnonzero(rows < 0)
        if len(strange):
            got = f"{len(strange)} ids of nobody, the first {texts[strange[0]]!r}"
            raise self._unfit(got, "name people as the table of people does")
        return rows

    def _known(self, texts: pd.Series) -> Integers:
        """Rows of the graph, −1 for nobody's ids."""
        if self._numbered:
            return Identity(self._graph.node_id.cpu().numpy()).rows_of(texts)
        kind = "id"
        if "node_names" in self._graph:
            names = known_rows(texts, self._graph, "node_name")
            kind = "node_name" if (names >= 0).any() else "node_id"
        return known_rows(texts, self._graph, kind)

    def _unfit(self, got: str, next_step: str) -> FileError:
        return FileError(self._what, got, "source,target,score for each pair", next_step)


def read_pairs(
    path: Path, graph: SensitiveGraph, what: str, *, numbered: bool = False
) -> PairTable:
    """The pairs and scores in a CSV or Parquet file, seen by its content; see `PairTable`."""
    with path.open("rb") as file:
        packed = file.read(4) == b"PAR1"
    if packed:
        return PairTable(read_parquet(path), graph, what, numbered=numbered)
    table, delimiter = read_cells(path, [])
    return PairTable(table, graph, what, delimiter, numbered=numbered)


class GivenLinks(AuditedLinks):
    """A file or table of pairs and scores: the factual world, and no other.

    Args:
        pairs: the path of a CSV or Parquet file, or a table, with source, target and score; it may
            have more pairs than are asked for.
        name: the file's if not given.
        threshold: chosen by the audit if not given.

    Example:
        >>> import pandas as pd
        >>> from fairgear.links import GivenLinks, audit_links, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> source, target = split.graph.node_id[split.test.ends].numpy()
        >>> known = pd.DataFrame({"source": source, "target": target, "score": 0.7})
        >>> audit_links(GivenLinks(known), split).metrics["auroc"]
        0.5
    """

    factual_only = True

    def __init__(
        self,
        pairs: Path | str | pd.DataFrame,
        *,
        name: str | None = None,
        threshold: float | None = None,
    ) -> None:
        held = isinstance(pairs, pd.DataFrame)
        super().__init__(name or ("scores" if held else str(pairs)), threshold)
        self.kind = "table of scores" if held else "file of scores"
        self._pairs = pairs
        self.note(*NOTES)

    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """See `AuditedLinks`."""
        if isinstance(self._pairs, pd.DataFrame):
            return _Given(graph, self, PairTable(self._pairs, graph, "table of pairs"))
        path = Path(self._pairs)
        if not path.is_file():
            raise FileError(f"file {path}", "no file", "a CSV or Parquet file", "check the path")
        return _Given(graph, self, read_pairs(path, graph, f"file {path}"))


class _Given(PairScorer):
    def __init__(self, graph: SensitiveGraph, model: AuditedLinks, table: PairTable) -> None:
        super().__init__(graph)
        self._model, self._table = model, table

    def pairs(self, ends: Tensor) -> Floats:
        found = self._table.of(ends)
        missing = np.flatnonzero(np.isnan(found))
        if len(missing):
            first = ends[:, missing[0]].tolist()
            named = " and ".join(repr(person_name(self.graph, row)) for row in first)
            got = f"no score of {len(missing)} pairs, the first {named}"
            what, step = f"the scores {self._model.name!r}", "score every pair that is asked for"
            raise ParameterError(what, got, f"{ends.shape[1]} pairs with a score", step)
        return self._model.checked(found, ends.shape[1], "factual")
