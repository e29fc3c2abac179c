"""What labels, groups and edges of a file are read as, in a sentence each."""

from __future__ import annotations

import torch

from fairgear.column_names import listed
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.targets import MOST_CLASSES, known_labels

# Groups and classes that are listed one by one.
_SHOWN = 12


def inferred(graph: SensitiveGraph, columns: TableColumns) -> dict[str, str]:
    """By "label", "groups" and "edges"."""
    return {"label": _label(graph), "groups": _groups(graph), "edges": _edges(graph, columns)}


def _label(graph: SensitiveGraph) -> str:
    """The kind of the label, and the flag that would make another of it."""
    target, known = graph.target, graph.y[known_labels(graph.y)]
    if target.is_number:
        said = f"numbers from {float(known.min()):g} to {float(known.max()):g}"
        few = len(torch.unique(known)) <= MOST_CLASSES
        return said + ("; --task classification makes classes of them" if few else "")
    if target.is_binary:
        return f"two classes, {target.classes[1]!r} counts as 1, {target.classes[0]!r} as 0"
    said = f"{len(target.classes)} classes, {listed(target.classes, _SHOWN)}"
    return said + ("; --task regression makes numbers of them" if _numbers(target.classes) else "")


def _numbers(names: tuple[str, ...]) -> bool:
    try:
        return all(abs(float(name)) < float("inf") for name in names)
    except ValueError:
        return False


def _groups(graph: SensitiveGraph) -> str:
    """The groups with their people, or the range of a number; guesses are not counted."""
    known = graph.sens if graph.sens_known is None else graph.sens[graph.sens_known]
    unknown = len(graph.sens) - len(known)
    aside = f"; {unknown:,} people unknown" if unknown else ""
    if graph.continuous and graph.attributes is not None:
        ends = f"{float(known.min()):.10g} to {float(known.max()):.10g}"
        half = f'--sensitive "{graph.attributes.name}<{float(known.median()):.10g}" makes two'
        return f"none: {graph.attributes.name!r} is a number from {ends}; {half}{aside}"
    counts = known.bincount(minlength=len(graph.sens_names)).tolist()
    pairs = zip(graph.sens_names, counts, strict=True)
    shown = [f"{name!r} {count:,} people" for name, count in pairs]
    more = f", and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{len(shown)}: {', '.join(shown[:_SHOWN])}{more}{aside}"


def _edges(graph: SensitiveGraph, columns: TableColumns) -> str:
    kind = "from the first end to the second" if graph.directed else "both ways"
    kind = "between similar people" if columns.similarity is not None else kind
    weighted = ", with weights" if graph.edge_weight is not None else ""
    return f"{graph.num_undirected_edges:,}, {kind}{weighted}"
