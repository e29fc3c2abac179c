"""Chooses the adapter of a model by its interface."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator
from torch import nn

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.graph_models import CallableAdapter, EstimatorAdapter
from fairgear.auditing.adapters.module import ModuleAdapter
from fairgear.auditing.adapters.table import TableAdapter
from fairgear.errors import ParameterError

_KINDS = (
    "an estimator with predict_proba(graph, nodes=) and threshold_; "
    "a torch module called as module(x, edge_index); a scikit-learn classifier; "
    "a callable from a graph to scores; a CommandAdapter; a FolderAdapter"
)


def adapt(
    model: object,
    *,
    name: str | None = None,
    threshold: float | None = None,
    output: str = "auto",
) -> Adapter:
    """The adapter of `model`; an adapter is returned as it is, or as a copy with other options.

    Args:
        model: a fitted estimator over graphs, a torch module, a scikit-learn classifier, a
            callable from a graph to scores, or an adapter.
        name: what reports call it.
        threshold: scores above it give label 1; the model's own, or 0.5, if not given.
        output: for a torch module: "logits", "probabilities", or "auto" to decide by its outputs.
    """
    if isinstance(model, type):
        raise _unfit(f"the class {model.__name__}", "pass an instance, fitted")
    found: Any = model
    adapter: Adapter
    if isinstance(found, Adapter):
        changed = name is not None or threshold is not None
        adapter = found.with_options(name=name, threshold=threshold) if changed else found
    elif _over_graphs(found):
        adapter = EstimatorAdapter(found, name=name, threshold=threshold)
    elif isinstance(found, nn.Module):
        return ModuleAdapter(found, name=name, threshold=threshold, output=output)
    elif hasattr(found, "fit") and (
        hasattr(found, "predict_proba") or hasattr(found, "decision_function")
    ):
        adapter = TableAdapter(found, name=name, threshold=threshold)
    elif callable(found):
        adapter = CallableAdapter(found, name=name, threshold=threshold)
    elif isinstance(found, str):
        raise _unfit(f"the text {found!r}", "pass CommandAdapter(...) or FolderAdapter(...)")
    else:
        step = "pass a callable, such as lambda graph: scores(graph)"
        raise _unfit(f"a {type(found).__name__}", step)
    if output != "auto":
        raise ParameterError(
            f"output of {adapter.name!r}, a {adapter.kind}",
            repr(output),
            "'auto': the option is for torch modules only",
            "leave it out; for logits of other models, pass threshold=0",
        )
    return adapter


def _over_graphs(model: Any) -> bool:
    """Whether it has the interface of fairgear's methods."""
    ask = getattr(model, "predict_proba", None)
    if not callable(ask):
        return False
    try:
        takes_nodes = "nodes" in inspect.signature(ask).parameters
    except (TypeError, ValueError):
        # Compiled functions may have no signature.
        takes_nodes = False
    return takes_nodes or (hasattr(model, "threshold_") and not isinstance(model, BaseEstimator))


def _unfit(got: str, next_step: str) -> ParameterError:
    return ParameterError("a model to audit", got, _KINDS, next_step)
