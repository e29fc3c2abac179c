"""The label, the groups, the ids and the links of a file's people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from fairgear.datasets.checkup.columns import ColumnFacts
from fairgear.datasets.checkup.finding import Finding
from fairgear.datasets.checkup.links import link_findings
from fairgear.errors import FairgearError
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.identity import Identity
from fairgear.graph.tables.labels import REGRESSION, label_column
from fairgear.graph.tables.spellings import UNKNOWN_WORDS
from fairgear.graph.tables.table_graph import EdgeList, TableSource
from fairgear.graph.targets import MOST_CLASSES

# Rates of fewer people than this say little.
_FEW = 30
# Thousands of people with fewer links than one for four of them are hardly a graph.
_MANY, _HARDLY = 1000, 0.25
# Small groups that are named in one line.
_SHOWN = 12


def label_findings(
    source: TableSource, columns: TableColumns, facts: Sequence[ColumnFacts]
) -> Iterator[Finding]:
    """Why a column cannot be the label, if so."""
    for one in facts:
        if one.role == "label":
            try:
                label_column(source.nodes[one.name], one.name, columns.task, columns.positive)
            except FairgearError as error:
                yield _no_label(source, one, error)


def _no_label(source: TableSource, one: ColumnFacts, error: FairgearError) -> Finding:
    said = f"{error.got}; allowed: {error.allowed}"
    change: dict[str, Any] = {}
    if source.kinds.get(one.name) == "text" and one.distinct == 1 and one.missing:
        change = {"categorical": [one.name]}
        said += f"; {one.missing:,} cells hold a word for unknown such as {UNKNOWN_WORDS[0]}"
    elif one.distinct > MOST_CLASSES and one.read_as in ("numbers", "percentages"):
        change = {"task": REGRESSION}
    return Finding(f"label {one.name!r}", said, change, error.next_step, True)


def id_findings(
    source: TableSource, columns: TableColumns, facts: list[ColumnFacts]
) -> Iterator[Finding]:
    """Ids that are repeated or missing, and ends of edges that are nobody's."""
    nodes = source.nodes
    name = columns.id_column(nodes.columns)
    try:
        people = Identity.of(source.ids if name is None else nodes[name], len(nodes), name)
    except FairgearError as error:
        given = name is None or columns.id is not None
        change: dict[str, Any] = {} if given else {"drop": [name]}
        yield Finding(f"ids in {name!r}", str(error.got), change, error.next_step, True)
        return
    if isinstance(source.edges, EdgeList):
        better = _ids_of(source, facts)
        change = {"id": better} if better else {}
        try:
            pairs = people.pairs(source.edges.ends, header=source.edges.header, notes=[])
            yield from link_findings(source.edges, pairs, columns)
            if better and name is None:
                said = f"ends are read as row numbers from 0, and all of them are in {better!r} too"
                yield Finding("edges", said, change)
        except FairgearError as error:
            advice = "" if better else "correct the list, or name the column of the ids with --id"
            said = f"{error.got}; allowed: {error.allowed}"
            yield Finding("edges", said, change, advice, True)


def _ids_of(source: TableSource, facts: Sequence[ColumnFacts]) -> str | None:
    """Another column in which all ends of the edges are found."""
    for one in facts:
        numbered = one.levels == tuple(str(row) for row in range(len(one.levels)))
        if one.role == "feature" and one.distinct == len(source.nodes) and not numbered:
            try:
                people = Identity.of(source.nodes[one.name], len(source.nodes), one.name)
                assert isinstance(source.edges, EdgeList)
                people.pairs(source.edges.ends, header=source.edges.header, notes=[])
            except FairgearError:
                continue
            return one.name
    return None


def graph_findings(graph: SensitiveGraph, columns: TableColumns) -> Iterator[Finding]:
    """People without links, hardly any links, and groups or labels of few people."""
    count, links = len(graph.x), graph.num_undirected_edges
    alone = count - len(torch.unique(graph.edge_index))
    looser = "a lower --similarity joins more people"
    advice = looser if columns.similarity is not None else "check the list of edges"
    if count >= _MANY and links < _HARDLY * count:
        said = f"{count:,} people with {links:,} links: hardly a graph"
        yield Finding("edges", said, {}, advice)
    elif alone:
        said = f"{alone:,} of {count:,} people have no link; they are judged by their own row"
        yield Finding("edges", said, {}, advice)
    labels = dict(enumerate(graph.target.classes)) if (graph.y >= 0).any() else {}
    told = graph.sens if graph.sens_known is None else graph.sens[graph.sens_known]
    for what, names, codes in (
        ("group", dict(enumerate(graph.sens_names)), told),
        ("label", labels, graph.y),
    ):
        people = {name: int((codes == code).sum()) for code, name in names.items()}
        few = [f"{of:,} people of the {what} {name!r}" for name, of in people.items() if of < _FEW]
        if few:
            more = f" and {len(few) - _SHOWN} more" if len(few) > _SHOWN else ""
            said = f"{', '.join(few[:_SHOWN])}{more}: rates will be uncertain"
            yield Finding(f"{what}s", said, {}, "add people")
