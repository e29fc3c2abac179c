"""From a table to a graph: every source goes through `table_graph`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.attributes import Attributes
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity_mechanism import cached_edges, similarity_graph
from fairgear.graph.tables.columns import DROP, TableColumns
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.features import (
    FeatureColumn,
    Floats,
    Mask,
    NumberColumn,
    encoded_values,
    feature_columns,
    without_missing,
)
from fairgear.graph.tables.groups import (
    Groups,
    fewest_known,
    groups_of,
    known_groups,
    told_codes,
    with_crossed,
)
from fairgear.graph.tables.identity import Identity, Rows, edges_between
from fairgear.graph.tables.labels import LabelColumn, known_label, label_column, no_labels
from fairgear.graph.tables.links import Ties, linked, weight_column
from fairgear.graph.tables.two_groups import TwoGroups
from fairgear.graph.targets import is_known
from fairgear.graph.unknown import complete
from fairgear.progress import log
from fairgear.reading import memory

# Rows from which it pays to cache the edges of a table.
_MANY = 5_000
# Columns with this share of all variance decide by themselves who is similar to whom.
_NEARLY_ALL = 0.99


# A table in memory: work grows with its columns, some of it with their square.
MOST_ROWS, MOST_COLUMNS = 20_000_000, 10_000
# Bytes of memory for a cell, about, while a table is read.
_CELL = 64


def check_size(rows: int, columns: int, what: str = "a table") -> None:
    """Refuse a table that is too large to be read into memory, before it is."""
    cells = memory() // _CELL
    if rows <= MOST_ROWS and columns <= MOST_COLUMNS and rows * columns <= cells:
        return
    allowed = f"at most {MOST_ROWS:,} rows, {MOST_COLUMNS:,} columns and {cells:,} cells"
    step = "leave columns out of the file, or use fairgear store, which reads rows in pieces"
    raise GraphError(what, f"{rows:,} rows and {columns:,} columns", allowed, step)


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by id, in two columns; `header` if the first row may be their names."""

    ends: pd.DataFrame
    header: bool = False


@dataclass(frozen=True, eq=False)
class TableSource:
    """What a file holds: the arguments of `table_graph`, and what its columns were read as."""

    nodes: pd.DataFrame
    edges: EdgeList | Ties | Rows | None
    columns: TableColumns
    ids: pd.Series | None = None
    masks: Mapping[str, Mask] | None = None
    notes: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)

    def graph(self, encoding: Encoding | None = None, *, linked: bool = True) -> SensitiveGraph:
        """The graph, encoded as a model's training table if there is one; see `table_graph`."""
        return table_graph(
            self.nodes,
            self.edges,
            self.columns,
            ids=self.ids,
            masks=self.masks,
            encoding=encoding,
            notes=self.notes,
            linked=linked,
        )


def table_graph(
    nodes: pd.DataFrame,
    edges: EdgeList | Ties | Rows | None,
    columns: TableColumns,
    *,
    ids: pd.Series | None = None,
    masks: Mapping[str, Mask] | None = None,
    encoding: Encoding | None = None,
    notes: Sequence[str] = (),
    linked: bool = True,
) -> SensitiveGraph:
    """The graph of a table of people.

    Args:
        nodes: one row a person; an index with a name counts as a column.
        edges: by id, or by row number; None if similar rows are to be joined.
        columns: what the columns mean.
        ids: the people's ids, if the source holds them beside the table.
        masks: of the rows, by their names in the graph.
        encoding: of a model's training table, to encode this one alike; by default the table's
            own, which becomes the graph's field `encoding`.
        notes: what the user should know of how the table was read.
        linked: whether there must be edges. If not, a table without any is read as people alone:
            their groups and labels, and no features, so that no other column can be in the way.
    """
    alone = not linked and edges is None and columns.similarity is None
    edges = np.empty((2, 0), dtype=np.int64) if alone else edges
    columns.check_edges(given=edges is not None)
    if nodes.index.name is not None and nodes.index.name not in nodes.columns:
        nodes = nodes.reset_index()
    nodes = nodes.rename(columns=str)
    # Logged at the end, so that an error stands alone.
    notes = list(notes)
    before = nodes
    nodes, columns, attributes = with_crossed(nodes, columns, encoding)
    nodes, columns = with_groups(nodes, columns, encoding, notes)
    names = list(nodes.columns)
    if encoding is not None:
        encoding.check(names, columns)
    columns.check_table(names, len(nodes))
    column = columns.id_column(names, notes)
    people = Identity.of(ids if column is None else nodes[column], len(nodes), column)
    label, group = label_and_group(nodes.__getitem__, len(nodes), columns, encoding)
    if attributes is not None:
        group = group.numbered_as(attributes)
    told = None if attributes is None else told_codes(before, attributes)
    possible = None if told is None or attributes is None else attributes.possible(told)
    group = group.completed(people.node_id, columns, fewest_known(encoding), possible)
    columns = _without_features(columns, names) if alone else columns
    features, keep = table_features(nodes, group, columns, encoding, notes)
    group = group.rows(keep)
    if group.is_number:
        attributes = Attributes.number(columns.sensitive)
    values = encoded_values(features) if features else np.empty((int(keep.sum()), 0))
    if encoding is None:
        against = columns.against
        encoding = Encoding.of(
            features, columns.sensitive, group.names, notes, against=against, alone=alone
        )
        encoding = encoding.with_moments(values) if columns.standardize else encoding
        encoding = replace(encoding.for_label(label), attributes=attributes)
    if attributes is None and len(group.names) > 2:
        attributes = Attributes.single(columns.sensitive, group.names)
    y = label.values[keep]
    codes = group.missing_again().codes
    _warn(values, encoding, {columns.sensitive: codes, columns.label: y}, columns, notes)
    some = told is not None and not group.told.all()
    fields: dict[str, Any] = {
        "y": torch.from_numpy(y),
        "sens": torch.from_numpy(group.codes),
        "sens_known": None if group.told.all() else torch.from_numpy(group.told),
        "sens_told": torch.from_numpy(told[keep]) if some and told is not None else None,
        "sens_column": encoding.sens_column,
        "feature_names": encoding.feature_names,
        "node_id": torch.from_numpy(people.node_id[keep]),
        "name": columns.name,
        **({"label_names": label.names} if label.names else {}),
        **({} if columns.label is None else {"label_name": columns.label}),
        "sens_names": group.names,
        "sens_name": columns.sensitive,
        "attributes": attributes,
        "encoding": encoding,
        **({} if people.names is None else {"node_names": people.names}),
        **{key: torch.from_numpy(mask[keep]) for key, mask in (masks or {}).items()},
    }
    raw = torch.from_numpy(encoding.standardized(values))
    if columns.rule is not None:
        rule = replace(columns.rule, unit=encoding.unit)
        # The edges of a small table are computed faster than a file is read.
        join = cached_edges if len(y) >= _MANY else None
        graph = similarity_graph(raw, rule=rule, join=join, scale=encoding.scale, **fields)
        if not graph.num_undirected_edges:
            notes.append(
                f"warning: --similarity {columns.similarity} joins nobody; the model sees "
                "everybody without neighbours"
            )
    else:
        assert edges is not None, "checked above"
        joined = _edges(edges, people, columns, keep, notes)
        graph = SensitiveGraph(encoding.scale(raw), **joined, **fields)
    notes += [] if columns.label is None else [label.note(columns.label)]
    notes += group.notes(columns.sensitive)
    for note in notes:
        log(f"{columns.name}: {note}")
    return complete(graph)


def _without_features(columns: TableColumns, names: Sequence[str]) -> TableColumns:
    """The same columns with all that would be features left out."""
    kept = {columns.id_column(names), columns.label, columns.sensitive}
    return replace(columns, drop=tuple(name for name in names if name not in kept))


def with_groups(
    nodes: pd.DataFrame, columns: TableColumns, encoding: Encoding | None, notes: list[str]
) -> tuple[pd.DataFrame, TableColumns]:
    """The table with the two groups that `columns` asks for as its sensitive column."""
    names = list(nodes.columns)
    found = TwoGroups.of(columns, names, encoding)
    if found is None:
        return nodes, columns
    columns = found.columns(columns, names, len(nodes))
    notes += found.notes
    return found.frame(nodes), columns


def _edges(
    edges: EdgeList | Ties | Rows,
    people: Identity,
    columns: TableColumns,
    keep: Mask,
    notes: list[str],
) -> dict[str, Any]:
    """The fields of a graph for its edges."""
    if isinstance(edges, EdgeList):
        edges = _ties(edges, people, columns.weight, notes)
    ties = edges if isinstance(edges, Ties) else Ties(edges)
    directed = bool(ties.directed) if columns.directed is None else columns.directed
    if directed or ties.weights is not None:
        return linked(ties, keep, directed, notes)
    return {"edge_index": edges_between(ties.pairs, keep, notes)}


def _ties(edges: EdgeList, people: Identity, weight: str | None, notes: list[str]) -> Ties:
    """A list by id as rows, with the weights in one of its columns."""
    if weight is None:
        return Ties(people.pairs(edges.ends, header=edges.header, notes=notes))
    weights = weight_column(edges.ends, weight, header=edges.header)
    pairs = people.pairs(edges.ends.iloc[:, :2], header=edges.header, notes=notes)
    if pairs.shape[1] != len(weights):
        got, allowed = "an edge list without names of its columns", "a column with a name"
        step = "begin the list with a line such as source,target,weight"
        raise ParameterError("--weight", got, allowed, step)
    return Ties(pairs, weights)


def label_and_group(
    column: Callable[[str], pd.Series], count: int, columns: TableColumns, encoding: Encoding | None
) -> tuple[LabelColumn, Groups]:
    """The label and the sensitive attribute; the latter as in training if there is an encoding."""
    label = _label(column, count, columns, encoding)
    held, name = column(columns.sensitive), columns.sensitive
    if encoding is not None:
        return label, known_groups(held, name, encoding)
    return label, groups_of(held, name, columns)


def _label(
    column: Callable[[str], pd.Series], count: int, columns: TableColumns, encoding: Encoding | None
) -> LabelColumn:
    """The label; several classes and numbers as in training if there is an encoding."""
    if columns.label is None:
        return no_labels(count)
    held, name = column(columns.label), columns.label
    if encoding is not None and encoding.task:
        return known_label(held, name, encoding.task, encoding.classes)
    return label_column(held, name, columns.task, columns.positive)


def table_features(
    nodes: pd.DataFrame,
    group: Groups,
    columns: TableColumns,
    encoding: Encoding | None,
    notes: list[str],
) -> tuple[list[FeatureColumn], Mask]:
    """The columns without gaps, the sensitive one at its own place, and which rows are kept."""
    aside = {columns.label, columns.id_column(nodes.columns), *columns.drop}
    names = [name for name in nodes.columns if name not in aside]
    if encoding is None:
        held = ((name, nodes[name]) for name in names if name != columns.sensitive)
        features = list(
            feature_columns(
                held, categorical=columns.categorical, drop_text=columns.drop_text, notes=notes
            )
        )
        kept = {columns.sensitive, *(column.name for column in features)}
        names = [name for name in names if name in kept]
    else:
        unused = [name for name in names if name not in encoding.names]
        if unused:
            notes.append(f"the model does not use the columns {listed(unused)}")
        names = encoding.names
        features = [
            code.read(nodes[code.column])
            for code in encoding.columns
            if code.column != columns.sensitive
        ]
    unknown = ~group.told
    left_out = unknown if columns.unknown == DROP else np.zeros_like(unknown)
    if left_out.any():
        lost, name = int(left_out.sum()), columns.sensitive
        notes.append(f"left out {lost:,} of {len(nodes):,} rows: their {name} is unknown")
    features, keep = without_missing(features, left_out, policy=columns.missing, notes=notes)
    people = group.rows(keep)
    known = people.codes[people.told]
    if encoding is None and group.is_number and len(np.unique(known)) < 2:
        got = f"{len(known):,} whose {columns.sensitive} is known and the same"
        step = "use --missing impute, or leave columns with many gaps out with --drop"
        raise GraphError("rows without missing values", got, "people who differ in it", step)
    left = [name for code, name in enumerate(group.names) if (known == code).any()]
    if encoding is None and len(left) < len(group.names):
        gone = [name for name in group.names if name not in left]
        alone = f"{left[0]!r} alone" if len(left) == 1 else f"nobody of {listed(gone)}"
        raise GraphError(
            f"rows without missing values, of the groups in {columns.sensitive!r}",
            f"{alone} once the others are dropped",
            "people of both groups" if len(group.names) == 2 else "people of every group",
            "use --missing impute, or leave columns with many gaps out with --drop",
        )
    if group.in_features:
        sens = NumberColumn(columns.sensitive, people.codes.astype(np.float64))
        features.insert(names.index(columns.sensitive), sens)
    return features, keep


def _warn(
    values: Floats,
    encoding: Encoding,
    known: Mapping[str | None, NDArray[Any]],
    columns: TableColumns,
    notes: list[str],
) -> None:
    """Note features that copy the label or the group, and those that decide who is similar."""
    names = encoding.feature_names
    for what, codes in known.items():
        for place, name in enumerate(names):
            if name != encoding.sensitive and _is_copy(values[:, place], codes):
                notes.append(f"column {name!r} is a copy of {what!r}; consider --drop")
    if columns.rule is None or columns.standardize:
        return
    variance = values.var(axis=0)
    largest = np.argsort(-variance, kind="stable")
    share = np.cumsum(variance[largest])
    needed = int(np.searchsorted(share, _NEARLY_ALL * variance.sum())) + 1
    if needed < (variance > 0).sum() / 2:
        notes.append(
            f"who is similar is decided by {listed(names[place] for place in largest[:needed])} "
            "nearly alone; --standardize gives every column the same weight"
        )


def _is_copy(values: Floats, codes: NDArray[Any]) -> bool:
    """Whether a feature tells the classes by one value each, or is the number, where known."""
    known = is_known(codes)
    if codes.dtype.kind == "f":
        return bool(known.any()) and bool((values[known] == codes[known]).all())
    parts = [values[codes == code] for code in np.unique(codes[known])]
    firsts = {float(part[0]) for part in parts}
    if len(parts) < 2 or len(firsts) < len(parts):
        return False
    return all(bool((part == part[0]).all()) for part in parts)
