"""Conditional ranks: each column in turn keeps its rank given its parents and the attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.diagram import Diagram
from fairgear.causal.features.additive import LevelLaw, NumberLaw, Regressions, StepLaw, Terms
from fairgear.causal.features.along import Knots
from fairgear.causal.features.base import (
    FEATURE_MODELS,
    FeatureModel,
    Floats,
    Integers,
    Noise,
    Values,
)
from fairgear.causal.features.columns import listed
from fairgear.causal.features.forest import ForestLaw
from fairgear.causal.features.levels import levels_of, set_levels
from fairgear.errors import ParameterError

CONDITIONAL = ("additive", "forest")
Law = NumberLaw | StepLaw | LevelLaw | ForestLaw
_LAWS: tuple[type[Law], ...] = (NumberLaw, StepLaw, LevelLaw, ForestLaw)


@dataclass(frozen=True)
class _Step:
    """One number or category to be moved, after its parents.

    Attributes:
        name: of the number or category.
        columns: its own.
        parents: the columns that its parents have.
        by_cell: whether the attribute is a parent. A number is none by cell but stands among the
            columns, after those of the table.
    """

    name: str
    columns: tuple[int, ...]
    parents: list[int]
    by_cell: bool


class FeatureSequential(FeatureModel):
    """x'_j = F⁻¹_{j|s',pa'}(F_{j|s,pa}(x_j)), columns in turn, with the parents' new values pa'.

    With a diagram, the parents of a column are those that it names; columns that do not follow
    from the attribute stay. Without one, every column before it is a parent, and the attribute.

    An attribute that is a number is a parent like any other; in regressions its effect may bend at
    knots.

    Columns of few values, and categories, have a latent uniform number a person and column.

    Args:
        resolving: columns that keep their values, besides those that the diagram names.
        diagram: what follows from what.
        conditional: how the laws F are estimated. "additive": regressions on the parents and
            their squares, which give location and scale, and ranks of the residuals in each cell.
            "forest": quantile regression forests in each cell, which are slower and assume less.

    Example:
        >>> from fairgear.causal import Diagram, FeatureSequential, with_features
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> features = FeatureSequential(diagram=Diagram({"x3": ["x2"]}, sensitive="x2"))
        >>> world = with_features(features, graph).counterfactual(graph, 1 - graph.sens)
        >>> (world.x != graph.x).any(dim=0).tolist()
        [False, False, True, True, False]
    """

    name = "sequential"
    how = "by conditional ranks, each column given those before it"

    def __init__(
        self,
        resolving: Sequence[str] = (),
        *,
        diagram: Diagram | None = None,
        conditional: str = "additive",
    ) -> None:
        if conditional not in CONDITIONAL:
            what, allowed = "conditional laws", ", ".join(CONDITIONAL)
            raise ParameterError(what, repr(conditional), allowed, "choose one of them")
        all_resolving = (*resolving, *(diagram.resolving if diagram else ()))
        super().__init__(tuple(dict.fromkeys(all_resolving)))
        self.diagram, self.conditional = diagram, conditional
        if diagram is not None:
            self.how = "by conditional ranks, each column given its causes in the diagram"

    @property
    def notes(self) -> tuple[str, ...]:
        """What stays as it is, and why."""
        if self.diagram is None or not self.fitted:
            return super().notes
        absent = [name for name in self.columns.nodes if name not in self.diagram.parents]
        found = list(super().notes)
        if absent:
            found.append(f"These are not in the diagram, and stay: {listed(absent)}.")
        if not self._plan:
            found.append("In the diagram nothing follows from the attribute: no feature moves.")
        return tuple(found)

    @property
    def most_columns(self) -> int | None:
        """Each column follows from all before it: 400 take a minute, twice as many take 16."""
        return 500 if self.diagram is None else None

    def _steps(self) -> list[_Step]:
        """What moves, parents first."""
        columns, diagram = self.columns, self.diagram
        nodes = columns.nodes
        if diagram is None:
            order, attribute = list(nodes), ""
            parents = {name: ["", *order[:place]] for place, name in enumerate(order)}
        else:
            skip = None if columns.skip is None else columns.names[columns.skip]
            attribute, order = diagram.attribute(nodes, skip), list(diagram.order)
            parents = {name: list(of) for name, of in diagram.parents.items()}
        moving, steps = {attribute}, []
        for name in order:
            if name in self.resolving or not moving.intersection(parents[name]):
                continue
            moving.add(name)
            own = sorted(k for parent in parents[name] for k in nodes.get(parent, ()))
            by_cell = attribute in parents[name]
            if by_cell and not self._cells:
                own += range(len(columns.names), len(columns.names) + self._extra)
            steps.append(_Step(name, nodes[name], own, by_cell and self._cells > 0))
        return steps

    def _learn(self, table: Floats, cells: Values) -> dict[str, NDArray[Any]]:
        learned: dict[str, NDArray[Any]] = {}
        if not self._cells:
            learned["knots"] = Knots.of(cells).at
            table, cells = self._with_number(table, cells, learned["knots"])
        self._extra = table.shape[1] - len(self.columns.names)
        self._plan = self._steps()
        self._terms = Terms.of(table)
        terms = self._terms(table)
        pooled = Regressions(terms, np.zeros_like(cells), 1)
        by_cell = Regressions(terms, cells, self._cells) if self._cells else pooled
        self._laws: dict[str, Law] = {}
        for step in self._plan:
            self._laws[step.name] = self._law(step, table, by_cell if step.by_cell else pooled)
        learned |= {f"terms.{key}": value for key, value in vars(self._terms).items()}
        for name, law in self._laws.items():
            learned |= {f"{name}.{key}": value for key, value in vars(law).items()}
        return learned

    def _law(self, step: _Step, table: Floats, regressions: Regressions) -> Law:
        levels = len(step.columns) > 1
        values = table[:, step.columns[0]]
        if levels:
            values = levels_of(table, step.columns, self._ends).astype(float)
        if self.conditional == "forest":
            count = len(step.columns) if levels else 0
            return ForestLaw.of(values, table[:, step.parents], regressions.cells, count)
        places = self._terms.places(step.parents)
        if levels:
            return LevelLaw.of(values, len(step.columns), places, regressions)
        kind = StepLaw if StepLaw.fits(values) else NumberLaw
        return kind.of(values, places, regressions)

    def _rows(self, old: Floats, before: Values, after: Values, noise: Noise) -> Floats:
        width, new = old.shape[1], old.copy()
        if not self._cells:
            knots = self._learned["knots"]
            new, after = self._with_number(old, after, knots)
            old, before = self._with_number(old, before, knots)
        terms, same = self._terms(old), np.zeros_like(before)
        new_terms = terms.copy()
        if not self._cells:
            self._terms.write(new_terms, new, list(range(width, width + self._extra)))
        for step in self._plan:
            law, columns = self._laws[step.name], list(step.columns)
            cells = (before, after) if step.by_cell else (same, same)
            drawn = noise(f"column {step.name}")
            if isinstance(law, ForestLaw):
                given = old[:, step.parents], new[:, step.parents]
            else:
                places = self._terms.places(step.parents)
                given = terms[:, places], new_terms[:, places]
            if len(columns) > 1:
                levels = levels_of(old, step.columns, self._ends).astype(float)
                levels = law.moved(levels, *given, *cells, drawn)
                set_levels(new, levels.astype(np.int64), step.columns, self._ends)
            else:
                values = law.moved(old[:, columns[0]], *given, *cells, drawn)
                # What is added to the parents' effect may lead beyond what anybody has.
                new[:, columns[0]] = np.clip(values, *self._ends[:, columns[0]])
            self._terms.write(new_terms, new, columns)
        return new[:, :width]

    def _with_number(self, table: Floats, sens: Floats, knots: Floats) -> tuple[Floats, Integers]:
        """The table with the number in its last columns, and one cell for everybody."""
        parts = [table, sens]
        if self.conditional == "additive":
            parts.append(Knots(knots).weights(sens)[:, 1:-1])
        return np.column_stack(parts), np.zeros(len(sens), dtype=np.int64)

    def _arguments(self) -> dict[str, Any]:
        diagram = None if self.diagram is None else self.diagram.to_dict()
        return {**super()._arguments(), "diagram": diagram, "conditional": self.conditional}

    @classmethod
    def _of_arguments(cls, arguments: dict[str, Any]) -> Self:
        diagram = arguments.pop("diagram")
        return cls(**arguments, diagram=None if diagram is None else Diagram(**diagram))

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        super()._restore(tensors, facts)
        self._terms = Terms(*(self._learned[f"terms.{one.name}"] for one in fields(Terms)))
        self._extra = len(self._terms.mean) - len(self.columns.names)
        self._laws, self._plan = {}, self._steps()
        for step in self._plan:
            parts = [
                {one.name: self._learned.get(f"{step.name}.{one.name}") for one in fields(kind)}
                for kind in _LAWS
            ]
            self._laws[step.name] = next(
                kind(**part)  # type: ignore[arg-type]  # none is None, see the last line
                for kind, part in zip(_LAWS, parts, strict=True)
                if all(value is not None for value in part.values())
            )


FEATURE_MODELS.add("sequential", FeatureSequential)
