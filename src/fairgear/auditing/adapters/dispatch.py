"""Chooses the adapter of a model by its interface."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, is_regressor
from torch import Tensor, nn

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.graph_models import CallableAdapter, EstimatorAdapter
from fairgear.auditing.adapters.module import ModuleAdapter
from fairgear.auditing.adapters.scores import ScoresAdapter
from fairgear.auditing.adapters.table import TableAdapter
from fairgear.errors import ParameterError

_KINDS = (
    "an estimator with predict_proba(graph, nodes=) and threshold_; "
    "a torch module called as module(x, edge_index); a scikit-learn classifier or regressor; "
    "a callable from a graph to scores; a CommandAdapter; a FolderAdapter; an array of scores, "
    "or the Path of a file of them"
)


def adapt(model: object, *, name: str | None = None, threshold: float | None = None) -> Adapter:
    """The adapter of `model`; an adapter is returned as it is, or as a copy with other options.

    Args:
        model: a fitted estimator over graphs, a torch module, a scikit-learn classifier, a
            callable from a graph to scores, an array of scores or the path of a file of them, or
            an adapter.
        name: what reports call it.
        threshold: scores above it give label 1; the model's own, or 0.5, if not given.

    Example:
        >>> import torch
        >>> from torch_geometric.nn import GCNConv
        >>> from fairgear.auditing import adapt
        >>> adapt(GCNConv(5, 2), name="gcn").kind
        'PyTorch module'
        >>> adapt(lambda graph: graph.x[:, 0]).kind
        'Python callable'
    """
    found: Any = model
    if isinstance(found, type):
        raise _unfit(f"the class {found.__name__}", "pass an instance, fitted")
    if isinstance(found, Adapter):
        changed = name is not None or threshold is not None
        return found.with_options(name=name, threshold=threshold) if changed else found
    if isinstance(found, Path | np.ndarray | Tensor | pd.Series):
        return ScoresAdapter(found, name=name, threshold=threshold)
    if _over_graphs(found):
        return EstimatorAdapter(found, name=name, threshold=threshold)
    if isinstance(found, nn.Module):
        return ModuleAdapter(found, name=name, threshold=threshold)
    scores = hasattr(found, "predict_proba") or hasattr(found, "decision_function")
    scores = scores or (isinstance(found, BaseEstimator) and is_regressor(found))
    if hasattr(found, "fit") and scores:
        return TableAdapter(found, name=name, threshold=threshold)
    if callable(found):
        return CallableAdapter(found, name=name, threshold=threshold)
    if isinstance(found, str):
        step = "pass CommandAdapter(...), FolderAdapter(...) or ScoresAdapter(...)"
        raise _unfit(f"the text {found!r}", step)
    step = "pass a callable, such as lambda graph: scores(graph)"
    raise _unfit(f"a {type(found).__name__}", step)


def _over_graphs(model: Any) -> bool:
    """Whether it has the interface of fairgear's methods."""
    predict = getattr(model, "predict_proba", None)
    if not callable(predict):
        return False
    try:
        takes_nodes = "nodes" in inspect.signature(predict).parameters
    except (TypeError, ValueError):
        # Compiled functions may have no signature.
        takes_nodes = False
    return takes_nodes or (hasattr(model, "threshold_") and not isinstance(model, BaseEstimator))


def _unfit(got: str, next_step: str) -> ParameterError:
    return ParameterError("a model to audit", got, _KINDS, next_step)
