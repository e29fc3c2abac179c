"""Adapter: a model as an audit sees it, whatever it is made of."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import ClassVar, Self

from torch import Tensor

from fairgear.auditing.adapters import checks
from fairgear.auditing.people import name_of
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FairgearError, ParameterError
from fairgear.metrics.inputs import Floats, Integers


class Adapter(ABC):
    """Scores people in a world.

    Attributes:
        kind: what it wraps, in words for people.
        name: what reports call the model.
        threshold: a person is given label 1 where the score is above this.
        original: the model itself; None where there is none on this side.
        usual_self: how many people *self* is measured on unless somebody says; None is everyone.
        usual_affected: how many people are asked about neighbour by neighbour unless somebody says.
        notes: plain sentences on how the model was read.
        probabilities: whether the scores are probabilities whatever the threshold is.
        small_steps: whether it answers for one person without looking at the whole graph.
        can_repeat: whether asking twice runs the model twice, rather than reading the same file.
    """

    kind: str
    probabilities: ClassVar[bool] = False
    can_repeat: ClassVar[bool] = True
    name: str
    threshold: float = 0.5
    original: object = None
    usual_self: int | None = 500
    usual_affected: int = 10
    small_steps: bool = False
    notes: tuple[str, ...] = ()
    # A threshold that somebody chose says what the numbers mean, whatever their range.
    _any_numbers: bool = False
    # How a model's answers are read is settled once, where it is asked first.
    _settled: bool = False

    @abstractmethod
    def scores(self, world: World, nodes: Tensor) -> Floats:
        """One finite score for each row in `nodes` of the world's graph, in their order."""

    def check(self, worlds: Worlds) -> None:
        """Refuse worlds that this model can say nothing about; an audit starts with it."""
        return None

    def can_answer(self, world: World) -> bool:
        """Whether `scores` can be asked there; not in worlds that nobody has computed."""
        return True

    def given(self, *, name: str | None = None, threshold: float | None = None) -> Self:
        """A copy with another name or threshold; this one stays as it is."""
        fresh = copy.copy(self)
        if name is not None:
            fresh.name = name
        fresh._choose(threshold)
        return fresh

    def _choose(self, threshold: float | None) -> None:
        """Take the threshold that somebody chose, if anybody did."""
        if threshold is None:
            return
        if not isinstance(threshold, Real) or not math.isfinite(threshold):
            raise ParameterError(
                f"threshold of {self.name!r}",
                repr(threshold),
                "a finite number",
                "leave it out to use 0.5",
            )
        if self.probabilities and not 0 < threshold < 1:
            raise ParameterError(
                f"threshold of {self.name!r}",
                threshold,
                "more than 0, less than 1: its outputs are turned into probabilities",
                "use 0.5 where logits would be cut at 0",
            )
        self.threshold = float(threshold)
        self._any_numbers = True

    def _note(self, *sentences: str) -> None:
        new = [sentence for sentence in sentences if sentence not in self.notes]
        self.notes = (*self.notes, *new)

    def _where(self, world: World) -> str:
        """The model and the world, as errors name them."""
        return f"the model {self.name!r} in the world {world.name!r}"

    def _person(self, world: World, row: int) -> int | str:
        """Somebody, as errors name them."""
        return name_of(world.graph, row)

    @contextmanager
    def _asking(self, world: World, next_step: str) -> Iterator[None]:
        """Inside, whatever goes wrong in the model becomes one line that says where."""
        try:
            yield
        except FairgearError:
            raise
        except (Exception, SystemExit) as error:
            # Code that ends the process would end the audit too, and call it a success.
            reason = (str(error).splitlines() or [""])[0]
            raise ParameterError(
                self._where(world),
                f"{type(error).__name__}: {reason}",
                "a model that answers in every world",
                next_step,
            ) from error

    def _finished(
        self,
        world: World,
        values: Floats,
        rows: Integers,
        *,
        probabilities: bool = False,
        next_step: str = "pass a threshold, such as 0 for logits, or keep them within 0 and 1",
    ) -> Floats:
        """Scores that were checked for the people in these rows; what they are is noted once.

        Args:
            world: where the model was asked.
            values: one score a person.
            rows: of the people, for messages.
            probabilities: whether they must be some, whatever the threshold is.
            next_step: what to do where they are none and must be.
        """
        if not self._settled:
            self._settled = True
            if checks.are_answers(values):
                self._note("It gives answers, not scores: AUROC ranks by them.")
        checks.check_finite(
            self._where(world), values, lambda place: self._person(world, int(rows[place]))
        )
        if probabilities or self.probabilities:
            allowed = "probabilities, 0 to 1"
        elif self._any_numbers:
            return values
        else:
            allowed = "0 to 1, unless a threshold is given"
        return checks.as_probabilities(self._where(world), values, allowed, next_step)
