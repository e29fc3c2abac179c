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
from typing import ClassVar, Self

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
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import quiet

# Sums in another order, as another thread or batch may compute them, are not another answer.
ROUNDING = 1e-6
# People whom *self* is measured on if everybody would take too long.
SAMPLED = 500
# Worlds of one person that are scored together.
TOGETHER = 64


@dataclass(frozen=True)
class Predictions:
    """Scores and labels of some people in one world."""

    scores: Floats
    labels: Integers


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
        can_repeat: whether a second call runs the model again, rather than reading a file again.
    """

    kind: str
    probabilities: ClassVar[bool] = False
    can_repeat: ClassVar[bool] = True
    costly: ClassVar[bool] = False
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
        return Predictions(scores, (scores > self.threshold).astype(np.int64))

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
                yield Predictions(mine, (mine > self.threshold).astype(np.int64))

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
        self._any_numbers = True

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
        """What the model returned for `count` people as (count, 1) or (count, 2) of float64."""
        array = _as_array(values)
        if array is None or array.dtype.kind not in "biuf":
            kind = type(values).__name__ if array is None or array.ndim == 0 else array.dtype
            got, allowed = f"{kind}, which holds no numbers", f"{count} scores, one a node"
            raise self._refusal(world, got, allowed, "return an array or a tensor of numbers")
        if array.shape not in ((count,), (count, 1), (count, 2)):
            raise self._refusal(
                world,
                f"scores of shape {array.shape}",
                f"shape ({count},), ({count}, 1) or ({count}, 2), one row a node",
                "return one score for each node, in the order of the graph",
            )
        return array.reshape(count, -1).astype(np.float64)

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
            if ((values == 0) | (values == 1)).all():
                self._note("It gives answers, not scores: AUROC ranks by them.")
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            first = self._person(world, int(rows[wrong[0]]))
            got = f"{len(wrong)} NaN or infinite scores, the first of node {first!r}"
            step = "find out why the model gives no score there"
            raise self._refusal(world, got, "finite numbers", step)
        must_be = probabilities or self.probabilities
        if self._any_numbers and not must_be:
            return values
        if not within_unit(values):
            got = f"scores from {values.min():.4g} to {values.max():.4g}"
            allowed = "probabilities, 0 to 1" if must_be else "0 to 1, unless a threshold is given"
            raise self._refusal(world, got, allowed, next_step)
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
