"""Adapter: any model as an audit sees it, and the checks of its scores."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.adapters.agreement import agrees
from fairgear.auditing.people import person_name
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FairgearError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import BINARY, KINDS, Target
from fairgear.methods.thresholds import decide
from fairgear.metrics.counterfactual import TWO_CLASSES
from fairgear.metrics.disagreement import Disagreement, of_answer
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import quiet

# Sums in another order, as another thread or batch may compute them, are not another answer.
ROUNDING = 1e-6
# How far from 1 a row of probabilities in half precision may end.
SUM_ERROR = 2e-3
_KINDS = {"binary": "two classes", "multiclass": "several classes", "regression": "numbers"}
# People whom *self* is measured on if everybody would take too long.
SAMPLED = 500
# Worlds of one person that are scored together.
TOGETHER = 64


@dataclass(frozen=True)
class Predictions:
    """Scores and labels of some people in one world.

    Attributes:
        scores: (n,), or (n, classes) where there are several classes.
        labels: class numbers; where labels are numbers, those predicted.
        how: when two labels differ.
    """

    scores: Floats
    labels: NDArray[Any]
    how: Disagreement = TWO_CLASSES

    def of_answer(self, factual: Predictions) -> Floats:
        """One score a person: of several, that of their answer in the factual world."""
        return of_answer(self.scores, factual.labels)


class Adapter(ABC):
    """Scores people in a world.

    Attributes:
        kind: what it wraps, in words for reports.
        name: what reports call the model.
        threshold: scores above it give label 1.
        original: the wrapped model; None where it is not a Python object.
        default_self_people: how many people *self* is measured on if each costs a whole graph; None
            is everyone.
        default_affected_people: how many people are examined neighbour by neighbour by default.
        notes: sentences on how the model was read.
        probabilities: whether the scores are probabilities whatever the threshold is.
        small_steps: whether it scores one person without processing the whole graph.
        costly: whether every world costs a process or a file: no doses are asked for.
        is_local: whether people in worlds of one person are scored from their surroundings.
        kinds: of labels that it can predict.
        target: what is predicted, as the audited graph says.
        offsets: of several classes, added to the logarithms of their probabilities.
        can_repeat: whether a second call runs the model again, rather than reading a file again.
        factual_only: whether it scores the graph as it is and no other world.

    Example:
        >>> from fairgear.auditing import Adapter, adapt
        >>> adapter = adapt(lambda world: world.x[:, 0].sigmoid(), name="first column")
        >>> isinstance(adapter, Adapter), adapter.name
        (True, 'first column')
    """

    kind: str
    probabilities: ClassVar[bool] = False
    can_repeat: ClassVar[bool] = True
    factual_only: ClassVar[bool] = False
    costly: ClassVar[bool] = False
    kinds: ClassVar[Sequence[str]] = KINDS
    target: Target = BINARY
    offsets: Floats | None = None
    name: str
    threshold: float = 0.5
    original: object = None
    default_self_people: int | None = SAMPLED
    default_affected_people: int = 10
    small_steps: bool = False
    is_local: bool = False
    notes: tuple[str, ...] = ()
    # With a threshold chosen by the user, scores may be any numbers.
    _any_numbers: bool = False
    # Whether the user chose the threshold.
    _chosen: bool = False
    # How scores are read is decided once, in the first world.
    _decided: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, threshold={self.threshold:g})"

    @abstractmethod
    def scores(self, world: World, nodes: Tensor) -> Floats:
        """One finite score for each row in `nodes` of the world's graph, in their order."""

    def predict(self, world: World, nodes: Tensor) -> Predictions:
        """Scores and labels of `nodes`; the model may log on the factual graph only."""
        with nullcontext() if world.protocol == "factual" else quiet():
            scores = self.scores(world, nodes)
        return self.decided(scores)

    def decided(self, scores: Floats) -> Predictions:
        """The labels that follow from scores."""
        if self.target.is_binary:
            return Predictions(scores, (scores > self.threshold).astype(np.int64))
        how = Disagreement(self.target)
        table = scores[:, None] if self.target.is_number else scores
        return Predictions(scores, decide(table, self.target, self.threshold, self.offsets), how)

    def aim(self, target: Target) -> None:
        """Take the target of the graph to audit; refuse one that this model cannot predict."""
        if target.kind not in self.kinds:
            got, step = f"labels of {target.words}", "audit it in Python, as a function of a graph"
            allowed = " or ".join(_KINDS[kind] for kind in self.kinds)
            raise ParameterError(f"the model {self.name!r}, a {self.kind}", got, allowed, step)
        if self._any_numbers and not target.is_binary and self._chosen:
            got, allowed = f"one for labels of {target.words}", "one for labels of two classes"
            step = "leave the threshold out"
            raise ParameterError(f"threshold of {self.name!r}", got, allowed, step)
        self.target = target

    def near(self, worlds: Sequence[World], nodes: Sequence[Tensor]) -> Floats | None:
        """Scores of the rows `nodes[i]` in `worlds[i]`, from their surroundings alone.

        The worlds are those of one person each. None where the model must see the whole graph.
        """
        return None

    def prepare(self, worlds: Worlds) -> None:
        """Find out whether `near` gives what `scores` gives; an audit calls it before *self*."""
        self.is_local = type(self).near is not Adapter.near and agrees(self, worlds, ROUNDING)

    def self_people(self, worlds: Worlds) -> int | None:
        """How many people *self* is measured on by default; None is everyone."""
        few = self.is_local and worlds.cheap_alone and self.default_self_people == SAMPLED
        return None if few else self.default_self_people

    def predict_each(
        self, worlds: Iterable[World], nodes: Iterable[Tensor]
    ) -> Iterator[Predictions]:
        """Scores and labels of the rows `nodes[i]` in `worlds[i]`, the worlds of one person each.

        From their surroundings alone, many worlds at a time, where `prepare` found that possible.
        """
        pairs = zip(worlds, nodes, strict=True)
        if not self.is_local:
            yield from (self.predict(world, some) for world, some in pairs)
            return
        while part := list(islice(pairs, TOGETHER)):
            with quiet():
                scores = self.near([world for world, _ in part], [some for _, some in part])
            assert scores is not None
            done = 0
            for world, some in part:
                mine = self._checked(
                    world, scores[done : done + len(some)], some.cpu().numpy(), probabilities=True
                )
                done += len(some)
                yield self.decided(mine)

    def people(self, graph: SensitiveGraph) -> Tensor | None:
        """Rows of the people to audit unless others are named; None for the test people."""
        return None

    def check(self, worlds: Worlds) -> None:
        """Refuse worlds that this model cannot score; an audit starts with it."""
        return None

    def can_score(self, world: World) -> bool:
        """Whether `scores` works there; a folder of scores lacks worlds that nobody computed."""
        return True

    def threads(self) -> AbstractContextManager[None]:
        """One thread where each prediction is a small step, all threads where it is not."""
        return one_thread() if self.small_steps else nullcontext()

    def with_options(self, *, name: str | None = None, threshold: float | None = None) -> Self:
        """A copy with another name or threshold."""
        fresh = copy.copy(self)
        if name is not None:
            fresh.name = name
        fresh._set_threshold(threshold)
        return fresh

    def _set_threshold(self, threshold: float | None) -> None:
        """Use the threshold that the user chose, if any."""
        if threshold is None:
            return
        what = f"threshold of {self.name!r}"
        if not isinstance(threshold, Real) or not math.isfinite(threshold):
            step = "leave it out to use 0.5"
            raise ParameterError(what, repr(threshold), "a finite number", step)
        if self.probabilities and not 0 < threshold < 1:
            allowed = "more than 0, less than 1: its outputs are turned into probabilities"
            raise ParameterError(what, threshold, allowed, "use 0.5 where logits would be cut at 0")
        self.threshold = float(threshold)
        self._any_numbers = self._chosen = True

    def _note(self, *sentences: str) -> None:
        new = [sentence for sentence in sentences if sentence not in self.notes]
        self.notes = (*self.notes, *new)

    def _where(self, world: World) -> str:
        """The model and the world, as errors name them."""
        return f"the model {self.name!r} in the world {world.name!r}"

    def _refusal(self, world: World, got: str, allowed: str, next_step: str) -> ParameterError:
        """The error for what the model did in a world."""
        return ParameterError(self._where(world), got, allowed, next_step)

    def _person(self, world: World, row: int) -> int | str:
        """A person, as errors name them."""
        return person_name(world.graph, row)

    @contextmanager
    def _calling(self, world: World, next_step: str) -> Iterator[None]:
        """Inside, any failure of the model becomes an error of one line that says where."""
        try:
            yield
        except FairgearError:
            raise
        except (Exception, SystemExit) as error:
            # Code that ends the process would end the audit too, and call it a success.
            reason = (str(error).splitlines() or [""])[0]
            got = f"{type(error).__name__}: {reason}"
            allowed = "a model that answers in every world"
            raise self._refusal(world, got, allowed, next_step) from error

    def _columns(self, world: World, values: object, count: int) -> Floats:
        """What the model returned for `count` people as (count, columns) of float64."""
        array = _as_array(values)
        if array is None or array.dtype.kind not in "biuf":
            kind = type(values).__name__ if array is None or array.ndim == 0 else array.dtype
            got, allowed = f"{kind}, which holds no numbers", f"{count} scores, one a node"
            raise self._refusal(world, got, allowed, "return an array or a tensor of numbers")
        shapes = self._shapes(count)
        if array.shape not in shapes:
            several = " or ".join([", ".join(map(str, shapes[:-1])), str(shapes[-1])])
            raise self._refusal(
                world,
                f"scores of shape {array.shape}",
                f"shape {several.removeprefix(' or ')}, one row a node",
                "return one score for each node, in the order of the graph"
                if self.target.outputs == 1
                else "return the probability of each class for each node, in order",
            )
        return array.reshape(count, -1).astype(np.float64)

    def _shapes(self, count: int) -> list[tuple[int, ...]]:
        """Of what a model may return for that many people."""
        if self.target.outputs > 1:
            return [(count, self.target.outputs)]
        one: list[tuple[int, ...]] = [(count,), (count, 1)]
        return [*one, (count, 2)] if self.target.is_binary else one

    def _kept(self, table: Floats) -> Floats:
        """Of columns, those that are scores: all of several classes, else the last."""
        return table if self.target.outputs > 1 else table[:, -1]

    def _checked(
        self,
        world: World,
        values: Floats,
        rows: Integers,
        *,
        probabilities: bool = False,
        next_step: str = "pass a threshold, such as 0 for logits, or keep them within 0 and 1",
    ) -> Floats:
        """The scores of the people in `rows`, checked.

        With `probabilities` they must lie within 0 and 1 whatever the threshold is; `next_step`
        says what to do where they do not.
        """
        if not self._decided:
            self._decided = True
            if not self.target.is_number and ((values == 0) | (values == 1)).all():
                self._note("It gives answers, not scores: AUROC ranks by them.")
        wrong = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
        if len(wrong):
            first = self._person(world, int(rows[wrong[0]]))
            got = f"{len(wrong)} NaN or infinite scores, the first of node {first!r}"
            step = "find out why the model gives no score there"
            raise self._refusal(world, got, "finite numbers", step)
        if self.target.is_number:
            return values
        must_be = probabilities or self.probabilities or self.target.outputs > 1
        if self._any_numbers and not must_be:
            return values
        if not within_unit(values):
            got = f"scores from {values.min():.4g} to {values.max():.4g}"
            allowed = "probabilities, 0 to 1" if must_be else "0 to 1, unless a threshold is given"
            raise self._refusal(world, got, allowed, next_step)
        if values.ndim == 2 and not np.allclose(values.sum(axis=1), 1, rtol=0, atol=SUM_ERROR):
            got, allowed = "scores that do not sum to 1", "probabilities of the classes"
            raise self._refusal(world, got, allowed, "return softmax of the logits")
        return np.clip(values, 0, 1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, torch works on one thread.

    A step of microseconds gains nothing from a second thread; on a busy machine it waits for it
    each time, and a loop of seconds can take minutes.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def within_unit(values: Floats) -> bool:
    """Whether all are from 0 to 1, rounding aside."""
    return bool(((values >= -ROUNDING) & (values <= 1 + ROUNDING)).all())


def _as_array(values: object) -> NDArray[np.generic] | None:
    """`values` for NumPy; None where they are not rectangular."""
    try:
        if isinstance(values, Tensor):
            # NumPy has no bfloat16.
            kept = values.detach().cpu()
            return (kept.double() if kept.is_floating_point() else kept).numpy()
        if isinstance(values, pd.Series) and pd.api.types.is_numeric_dtype(values.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return None
