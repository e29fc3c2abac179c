"""Adapters: every kind of model of links, as an audit sees it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from fairgear.auditing.adapters.graph_models import own_copy
from fairgear.errors import FairgearError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.links.base import LinkModel, PairScorer
from fairgear.metrics.inputs import Floats, Integers

_KINDS = (
    "a fitted LinkModel; a callable of (graph, pairs); a torch module with encode(x, edge_index) "
    "and decode(z, pairs); a LinkCommand; the Path of a file of pairs and scores"
)


class AuditedLinks(ABC):
    """A model of links in an audit.

    Attributes:
        kind: what it wraps, in words for reports.
        name: what reports call it.
        threshold: scores above it predict a link; None where the audit has to choose one.
        factual_only: whether it knows the scores of pairs as they are and no other world.
        costly: whether every world costs a process.
        original: the wrapped model.
        notes: sentences on how it was read.
    """

    kind: str
    factual_only: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    original: object = None
    notes: tuple[str, ...] = ()

    def __init__(self, name: str, threshold: float | None) -> None:
        self.name = name
        self.threshold = _checked_threshold(threshold)

    @abstractmethod
    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """The model on a graph without the pairs in question; `world` is for messages."""

    def where(self, world: str) -> str:
        """The model and the world, as errors name them."""
        return f"the model {self.name!r} in the world {world!r}"

    def note(self, *sentences: str) -> None:
        """Keep sentences for the report, each once."""
        self.notes = (*self.notes, *(one for one in sentences if one not in self.notes))

    @contextmanager
    def calling(self, world: str, next_step: str) -> Iterator[None]:
        """Inside, any failure of the model becomes an error of one line that says where."""
        try:
            yield
        except FairgearError:
            raise
        except (Exception, SystemExit) as error:
            reason = (str(error).splitlines() or [""])[0]
            got, allowed = f"{type(error).__name__}: {reason}", "a model that answers everywhere"
            raise ParameterError(self.where(world), got, allowed, next_step) from error

    def checked(self, values: object, count: int, world: str) -> Floats:
        """What the model returned for `count` pairs, as finite numbers."""
        array = _as_array(values)
        if array is None or array.dtype.kind not in "biuf" or array.shape not in _shapes(count):
            shape = "no array" if array is None else f"{array.dtype} of shape {array.shape}"
            step = "return one number for each column of the pairs, in their order"
            raise ParameterError(self.where(world), shape, f"numbers of shape ({count},)", step)
        found: Floats = array.reshape(count).astype(np.float64)
        wrong = int((~np.isfinite(found)).sum())
        if wrong:
            got, step = f"{wrong} NaN or infinite scores", "find out why it gives no score there"
            raise ParameterError(self.where(world), got, "finite numbers", step)
        return found


def adapt_links(
    model: object, *, name: str | None = None, threshold: float | None = None
) -> AuditedLinks:
    """The adapter of `model`; see `audit_links` for what a model may be.

    Example:
        >>> from fairgear.links.adapters import adapt_links
        >>> adapt_links(lambda graph, pairs: pairs[0] * 0.0, name="nobody").kind
        'Python callable'
    """
    # They build on this file.
    from fairgear.links.given import GivenLinks
    from fairgear.links.module import ModuleLinks

    found: Any = model
    if isinstance(found, type):
        raise _unfit(f"the class {found.__name__}", "pass an instance, fitted")
    if isinstance(found, AuditedLinks):
        found.name = found.name if name is None else name
        if threshold is not None:
            found.threshold = _checked_threshold(threshold)
        return found
    if isinstance(found, LinkModel):
        return MethodLinks(found, name, threshold)
    if isinstance(found, Path | pd.DataFrame):
        return GivenLinks(found, name=name, threshold=threshold)
    if callable(getattr(found, "encode", None)) and callable(getattr(found, "decode", None)):
        return ModuleLinks(found, name, threshold)
    if isinstance(found, nn.Module):
        got = f"a {type(found).__name__} without encode and decode"
        raise _unfit(got, "pass a callable such as lambda graph, pairs: module(...)")
    if isinstance(found, str):
        raise _unfit(f"the text {found!r}", "pass LinkCommand(...), or a Path")
    if callable(found):
        return CallableLinks(found, name, threshold)
    raise _unfit(f"a {type(found).__name__}", "pass a callable of (graph, pairs)")


class MethodLinks(AuditedLinks):
    """A fitted method."""

    def __init__(self, model: LinkModel, name: str | None, threshold: float | None) -> None:
        own = getattr(model, "name", type(model).__name__)
        super().__init__(name or own, model.threshold_ if threshold is None else threshold)
        self.original = self._model = model
        self.kind = "fairgear method"

    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """See `AuditedLinks`."""
        with self.calling(world, "fit the model first"):
            inner = self._model.scorer(graph)
        return _Checked(graph, self, world, inner)


class _Checked(PairScorer):
    """Another scorer, whose scores are checked."""

    def __init__(
        self, graph: SensitiveGraph, model: AuditedLinks, world: str, inner: PairScorer
    ) -> None:
        super().__init__(graph)
        self._model, self._world, self._inner = model, world, inner

    def pairs(self, ends: Tensor) -> Floats:
        with self._model.calling(self._world, "check the model on this graph"):
            found = self._inner.pairs(ends)
        return self._model.checked(found, ends.shape[1], self._world)

    def block(self, rows: Tensor) -> Floats:
        with self._model.calling(self._world, "check the model on this graph"):
            return self._inner.block(rows)

    def vectors(self) -> tuple[Tensor, Tensor] | None:
        with self._model.calling(self._world, "check the model on this graph"):
            return self._inner.vectors()

    def exceptions(self, rows: Tensor) -> tuple[Integers, Integers]:
        with self._model.calling(self._world, "check the model on this graph"):
            return self._inner.exceptions(rows)

    def most_exceptions(self, rows: Tensor) -> Integers:
        with self._model.calling(self._world, "check the model on this graph"):
            return self._inner.most_exceptions(rows)

    def ranking(self) -> PairScorer:
        with self._model.calling(self._world, "check the model on this graph"):
            return _Checked(self.graph, self._model, self._world, self._inner.ranking())


class CallableLinks(AuditedLinks):
    """A function of a graph and pairs of its rows (2, m) that returns m scores.

    It gets copies, which it may change.
    """

    kind = "Python callable"

    def __init__(
        self,
        model: Callable[[SensitiveGraph, Tensor], object],
        name: str | None,
        threshold: float | None,
    ) -> None:
        known = getattr(model, "__name__", type(model).__name__)
        super().__init__(name or ("function" if known == "<lambda>" else known), threshold)
        self.original = self._model = model

    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """See `AuditedLinks`."""

        def call(ends: Tensor) -> Floats:
            with self.calling(world, "check that it works when called with (graph, pairs)"):
                found = self._model(own_copy(graph), ends.clone())
            return self.checked(found, ends.shape[1], world)

        return FunctionScorer(graph, call)


class FunctionScorer(PairScorer):
    """Scores pairs by a function of their rows (2, m)."""

    def __init__(self, graph: SensitiveGraph, call: Callable[[Tensor], Floats]) -> None:
        super().__init__(graph)
        self._call = call

    def pairs(self, ends: Tensor) -> Floats:
        """What the function gives; it is not called without pairs."""
        return self._call(ends) if ends.shape[1] else np.empty(0)


def _as_array(values: object) -> Any:
    if isinstance(values, Tensor):
        held = values.detach().cpu()
        return (held.float() if held.dtype == torch.bfloat16 else held).numpy()
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        return None


def _shapes(count: int) -> tuple[tuple[int, ...], ...]:
    return ((count,), (count, 1))


def _checked_threshold(threshold: float | None) -> float | None:
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or not math.isfinite(threshold):
        step = "leave it out, and one is chosen"
        raise ParameterError("threshold of links", repr(threshold), "a finite number", step)
    return float(threshold)


def _unfit(got: str, next_step: str) -> ParameterError:
    return ParameterError("a model of links to audit", got, _KINDS, next_step)
