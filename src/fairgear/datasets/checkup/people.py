"""The label, the groups, the ids and the links of a file's people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fairgear.column_names import listed
from fairgear.datasets.checkup.columns import ColumnFacts
from fairgear.datasets.checkup.finding import Finding
from fairgear.errors import FairgearError
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.identity import Identity
from fairgear.graph.tables.spellings import UNKNOWN_WORDS
from fairgear.graph.tables.table_graph import EdgeList, TableSource
from fairgear.graph.tables.two_groups import TwoGroups

# Rates of fewer people than this say little.
_FEW = 30
# Thousands of people with fewer links than one for four of them are hardly a graph.
_MANY, _HARDLY = 1000, 0.25


def value_findings(
    source: TableSource, columns: TableColumns, facts: list[ColumnFacts]
) -> Iterator[Finding]:
    """Whether the label and the sensitive column have two values."""
    for one in facts:
        if one.role == "label" and one.distinct not in (0, 2):
            said = f"{one.distinct} values, not two: {listed(one.levels)}"
            levels = source.kinds.get(one.name) == "text" and one.distinct == 1 and one.missing
            change = {"categorical": [one.name]} if levels else {}
            advice = "recode it to two values, or name another column"
            if change:
                said += (
                    f"; {one.missing:,} cells hold a word for unknown such as {UNKNOWN_WORDS[0]}"
                )
            yield Finding(f"label {one.name!r}", said, change, advice, True)
        elif one.role == "sensitive":
            yield from _group_findings(source, columns, one)


def _group_findings(
    source: TableSource, columns: TableColumns, one: ColumnFacts
) -> Iterator[Finding]:
    about = f"sensitive {one.name!r}"
    try:
        groups = TwoGroups.of(columns, list(source.nodes.columns))
        held = (
            set(one.levels) if groups is None else set(groups.read(source.nodes[one.name]).dropna())
        )
    except FairgearError as error:
        said = f"{error.got}; allowed: {error.allowed}"
        yield Finding(about, said, {}, error.next_step, True)
        return
    if len(held) == 2:
        return
    said = f"{len(held)} groups, not two: {listed(sorted(held))}"
    numbers = one.read_as in ("numbers", "ids", "percentages", "dates")
    if groups is not None or len(held) < 2:
        yield Finding(about, said, {}, "name a column with two groups", True)
    elif numbers and len(held) > 5:
        middle = one.levels[int(np.median(one.codes[one.codes >= 0]))]
        yield Finding(about, said, {"sensitive": f"{one.name}<{middle}"}, "", True)
    else:
        largest = one.levels[int(np.bincount(one.codes[one.codes >= 0]).argmax())]
        yield Finding(about, said, {"against": largest}, "", True)


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
            people.pairs(source.edges.ends, header=source.edges.header, notes=[])
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
    alone = count - len(set(graph.edge_index[0].tolist()))
    looser = "a lower --similarity joins more people"
    advice = looser if columns.similarity is not None else "check the list of edges"
    if count >= _MANY and links < _HARDLY * count:
        said = f"{count:,} people with {links:,} links: hardly a graph"
        yield Finding("edges", said, {}, advice)
    elif alone:
        said = f"{alone:,} of {count:,} people have no link; they are judged by their own row"
        yield Finding("edges", said, {}, advice)
    labels = {code: name for code, name in enumerate(graph.label_names) if (graph.y >= 0).any()}
    for what, names, codes in (
        ("group", dict(enumerate(graph.sens_names)), graph.sens),
        ("label", labels, graph.y),
    ):
        for code, name in names.items():
            people = int((codes == code).sum())
            if people < _FEW:
                said = f"{people:,} people of the {what} {name!r}: rates will be uncertain"
                yield Finding(f"{what}s", said, {}, "add people")
