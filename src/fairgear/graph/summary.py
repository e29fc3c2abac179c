"""A graph as a notebook shows it: its people, attribute, labels, edges and split."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.targets import known_labels
from fairgear.notebook import as_table

# Groups, classes and columns that are named.
_NAMED = 8


def graph_html(graph: SensitiveGraph) -> str:
    """HTML of a graph."""
    if "x" not in graph:
        return as_table("SensitiveGraph", ())
    people, features = graph.x.shape
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    split = ", ".join(
        f"{int(mask.sum()):,} {name}"
        for name, mask in zip(("train", "validation", "test"), masks, strict=True)
    )
    edges = "arcs" if graph.directed else "edges"
    edges += ", with weights" if graph.edge_weight is not None else ""
    rows = [
        ("people", f"{people:,}"),
        (edges, f"{graph.num_undirected_edges:,}"),
        ("features", f"{features:,}: {_listed(graph.feature_names)}"),
        ("sensitive attribute", _attribute(graph)),
        ("label", _label(graph)),
        ("split", split if any(bool(mask.any()) for mask in masks) else "none"),
    ]
    return as_table(f"SensitiveGraph {graph.name}", rows)


def _attribute(graph: SensitiveGraph) -> str:
    name = ", ".join(one.name for one in graph.sensitive_attributes)
    sens, unknown = graph.sens, ""
    if graph.sens_known is not None:
        sens, unknown = sens[graph.sens_known], f"; {int((~graph.sens_known).sum()):,} unknown"
    if graph.continuous:
        low, high = (float(end) for end in (sens.min(), sens.max()))
        return f"{name}, a number: {low:g} to {high:g}{unknown}"
    known = None if graph.attributes is None else graph.attributes.names
    groups = known or graph.get("sens_names") or ("0", "1")
    return f"{name} ({_counts(sens, groups)}{unknown})"


def _label(graph: SensitiveGraph) -> str:
    target, known = graph.target, known_labels(graph.y)
    name, missing = graph.get("label_name") or "", int((~known).sum())
    if not bool(known.any()):
        return f"{name} (none known)".strip()
    unknown = f"; {missing:,} unknown" if missing else ""
    if target.is_number:
        spread = f"mean {target.mean:.4g}, standard deviation {target.sd:.4g}"
        return f"{name} (a number, {spread}{unknown})".strip()
    return f"{name} ({_counts(graph.y[known], target.classes)}{unknown})".strip()


def _counts(values: Tensor, names: Sequence[str]) -> str:
    counts = torch.bincount(values.cpu(), minlength=len(names)).tolist()
    return _listed([f"{name}: {n:,}" for name, n in zip(names, counts, strict=True)], "; ")


def _listed(names: Sequence[str], between: str = ", ") -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return between.join(map(str, names[:_NAMED])) + more
