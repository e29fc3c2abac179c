"""Models of links behind a command: a program that reads a graph and pairs and writes scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from pyarrow import csv, parquet
from torch import Tensor

from fairgear.auditing.adapters.command import finish, words_of
from fairgear.auditing.adapters.program import Program
from fairgear.auditing.exchange.graph_files import check_format, write_graph
from fairgear.errors import ParameterError
from fairgear.files import replacing, temporary_folder
from fairgear.graph import SensitiveGraph
from fairgear.graph.tables import OriginalColumns
from fairgear.interruption import sigterm_unwinds
from fairgear.links.adapters import AuditedLinks
from fairgear.links.base import PairScorer
from fairgear.links.given import read_pairs
from fairgear.links.pairs import pair_keys
from fairgear.metrics.inputs import Floats

# Bytes that a program may print and write: for logs, and for each pair.
_ROOM, _EACH = 2**26, 2**8
_FORMATS = ("csv", "parquet")


class LinkCommand(AuditedLinks):
    """A program that is run once or a few times for every world.

    Args:
        command: a line such as `Rscript links.R {graph} {scores}`, run without a shell. `{graph}`
            is a folder with nodes.csv and edges.csv, as `CommandAdapter` writes them and without
            the pairs in question, and pairs.csv: source and target by node_id. `{scores}` is the
            file that the program writes, source,target,score for each pair in any order; without
            it, these lines are read from standard output.
        name: the command if not given.
        threshold: chosen by the audit if not given.
        format: of all these files, "csv" or "parquet".
        timeout: seconds for one run; then the program and its children are killed.

    Example:
        >>> import sys
        >>> from fairgear.links import LinkCommand, audit_links, split_links
        >>> from fairgear.testing import toy_graph
        >>> read = "import sys; head, *pairs = open(sys.argv[1] + '/pairs.csv').read().split(); "
        >>> write = "print(head, 'score', sep=','); [print(pair, 0.7, sep=',') for pair in pairs]"
        >>> model = LinkCommand(f'{sys.executable} -c "{read + write}" {{graph}}', name="constant")
        >>> found = audit_links(model, split_links(toy_graph()), draws=1, self_pairs=1)
        >>> found.metrics["delta_cf"]
        0.0
    """

    kind = "command"
    costly = True

    def __init__(
        self,
        command: str,
        *,
        name: str | None = None,
        threshold: float | None = None,
        format: str = "csv",
        timeout: float = 300.0,
    ) -> None:
        super().__init__(name or command, threshold)
        if check_format(format) not in _FORMATS:
            what, step = "format of pairs", "use csv where the other program reads tables"
            raise ParameterError(what, repr(format), ", ".join(_FORMATS), step)
        self._format, self._words = check_format(format), words_of(command)
        if not timeout > 0:
            raise ParameterError("timeout", timeout, "more than 0 seconds", "use 300")
        self._timeout = timeout
        self._columns: OriginalColumns | None = None

    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """See `AuditedLinks`."""
        if self._columns is None:
            # Those of the factual graph, which an audit asks for first.
            self._columns = OriginalColumns.of(graph)
        return _Runs(graph, self, world)

    def scores(self, graph: SensitiveGraph, ends: Tensor, world: str) -> Floats:
        """What the program writes for pairs of rows (2, m)."""
        # Unless edges are arcs, a pair and its reverse are one line.
        keys = pair_keys(ends, len(graph.x), directed=graph.directed).numpy()
        once = ends[:, torch.from_numpy(np.unique(keys, return_index=True)[1])]
        with sigterm_unwinds(), temporary_folder() as folder:
            found = self._run(graph, once, world, folder)
            # Pairs are asked for by number, which may be somebody else's name.
            table = read_pairs(found, graph, f"scores of {self.where(world)}", numbered=True)
            values = table.of(ends)
        missing = int(np.isnan(values).sum())
        if missing:
            got = f"no score of {missing} of {len(values)} pairs"
            step = "write a line for each pair in the file of pairs"
            raise ParameterError(self.where(world), got, "a score for every pair", step)
        return self.checked(values, ends.shape[1], world)

    def _run(self, graph: SensitiveGraph, ends: Tensor, world: str, folder: Path) -> Path:
        """The file that holds the scores after a run."""
        place = folder / "graph"
        write_graph(graph, place, self._format, self._columns)
        _write_pairs(graph, ends, place / f"pairs.{self._format}")
        scores = folder / f"scores.{self._format}"
        words = [
            word.replace("{graph}", str(place)).replace("{scores}", str(scores))
            for word in self._words
        ]
        program = Program(words, folder, self._timeout, _ROOM + _EACH * ends.shape[1])
        finish(program, self.where(world), f"{ends.shape[1]:,} pairs", "source,target,score")
        if not any("{scores}" in word for word in self._words):
            return program.stdout
        if not scores.exists():
            allowed = "a program that writes its scores there"
            step = "write source,target,score to that path, or leave {scores} out and print them"
            raise ParameterError(self.where(world), "no file where {scores} is", allowed, step)
        return scores


def _write_pairs(graph: SensitiveGraph, ends: Tensor, path: Path) -> None:
    ids = graph.node_id.cpu()[ends].numpy()
    table = pa.table([ids[0], ids[1]], ["source", "target"])
    with replacing(path, private=True) as temporary:
        if path.suffix == ".csv":
            csv.write_csv(table, temporary, csv.WriteOptions(quoting_style="needed"))
        else:
            parquet.write_table(table, temporary)


class _Runs(PairScorer):
    """Runs the program; keeps what it said last, since lists are asked for twice."""

    def __init__(self, graph: SensitiveGraph, model: LinkCommand, world: str) -> None:
        super().__init__(graph)
        self._model, self._world = model, world
        self._kept: tuple[Tensor, Floats] | None = None

    def pairs(self, ends: Tensor) -> Floats:
        if not ends.shape[1]:
            return np.empty(0)
        known = self._known(ends)
        return self._model.scores(self.graph, ends, self._world) if known is None else known

    def block(self, rows: Tensor) -> Floats:
        found = super().block(rows)
        place = torch.full((len(self.graph.x),), -1)
        place[rows] = torch.arange(len(rows))
        self._kept = place, found
        return found

    def _known(self, ends: Tensor) -> Floats | None:
        """Scores from the last block, if it has all of them."""
        if self._kept is None:
            return None
        place, scores = self._kept
        rows = place[ends[0]]
        if bool((rows < 0).any()):
            return None
        found: Floats = scores[rows.numpy(), ends[1].numpy()]
        return found
