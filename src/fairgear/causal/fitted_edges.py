"""A fitted edge model with its quality and its gate: whether edges move, and what to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.edge_candidates import HUB, NEAREST, Candidates, Missed
from fairgear.causal.edge_fit import Fit
from fairgear.causal.edge_kernel import Integers
from fairgear.causal.edge_model import EdgeModel, World
from fairgear.causal.edge_people import People
from fairgear.causal.edge_quality import EdgeQuality
from fairgear.causal.edge_terms import EDGE_TERMS
from fairgear.files import json_ready

# Edges (or non-edges, in a graph that is nearly complete) for each parameter, by the usual rule.
_LEAST_PER_PARAMETER = 10


@dataclass(frozen=True, eq=False)
class FittedEdges:
    """An edge model, and why its edges are held fixed, if they are.

    Attributes:
        kind: "distance" or "cosine".
        model: None where there was nothing to fit.
        held_out: its quality.
        shortcoming: why it is not good enough, if so.
        gate: whether a shortcoming holds the edges fixed.
        missed: new edges outside the candidates, where not every pair is looked at.
    """

    kind: str
    model: EdgeModel | None
    held_out: EdgeQuality | None
    shortcoming: str | None
    gate: bool
    missed: Mapping[str, Missed] = field(default_factory=dict)

    @classmethod
    def of(
        cls, kind: str, people: People, skip: int | None, *, gate: bool, seed: int
    ) -> FittedEdges:
        """Fit the edges of a graph."""
        terms = EDGE_TERMS[kind].of(people.table, skip)
        edges, least = people.edges.shape[1], _LEAST_PER_PARAMETER * len(terms.parameters)
        rarer = min(edges, people.pairs - edges)
        short = (
            f"{edges} edges among {people.pairs} pairs are too few to fit"
            if rarer < least
            else None
        )
        if rarer == 0:
            return cls(kind, None, None, short, gate)
        model, held_out = EdgeModel.fitted(terms, people, seed=seed)
        return cls(kind, model, held_out, short or held_out.shortcoming(), gate)

    @property
    def open(self) -> bool:
        """Whether edges move."""
        return self.model is not None and (self.shortcoming is None or not self.gate)

    def pairs(self, world: World, seed: int, *, exact: bool) -> Integers:
        """The edges of a world, (2, m)."""
        assert self.model is not None
        if exact:
            return self.model.edges(world, seed)
        return Candidates(self.model, world).edges(seed)

    def with_missed(self, worlds: Mapping[str, World]) -> FittedEdges:
        """The same, with the new edges that the candidates of these worlds will miss."""
        if self.model is None or not self.open:
            return self
        missed = {name: Candidates(self.model, world).missed(0) for name, world in worlds.items()}
        return replace(self, missed=missed)

    def quality(self) -> dict[str, Any]:
        """AUC, calibration, parameters with intervals, and whether the gate is open."""
        if self.model is None or self.held_out is None:
            return {"edges": self.kind, "gate_open": False}
        intervals = self.model.fit.intervals().tolist()
        named = zip(self.model.terms.parameters, self.model.fit.theta, intervals, strict=True)
        result: dict[str, Any] = {
            "edges": self.kind,
            "gate_open": self.open,
            **self.held_out.to_dict(),
            "parameters": {
                name: {"value": float(value), "low": low, "high": high}
                for name, value, (low, high) in named
            },
        }
        if self.missed:
            result["new_edges_missed"] = {
                world: {"expected": m.expected, "standard_error": m.standard_error}
                for world, m in self.missed.items()
            }
        ready: dict[str, Any] = json_ready(result)
        return ready

    def notes(self) -> tuple[str, ...]:
        """What every reader of a result must know."""
        if self.shortcoming is not None and not self.open:
            return (f"Edges are held fixed: {self.shortcoming}.",)
        assert self.held_out is not None
        found = self.held_out
        first = (
            f"Edges follow a fitted model ({self.kind}): on held-out pairs its AUC is "
            f"{found.auc:.2f}, {found.auc_without_degrees:.2f} by likeness and groups alone, and "
            f"it expects {found.expected:.0f} edges where there are {found.actual:.0f}."
        )
        notes = [first]
        if self.shortcoming is not None:
            notes.append(f"It is used although {self.shortcoming}: the gate was turned off.")
        if self.missed:
            shown = ", ".join(
                f"{m.expected:.0f} ± {m.standard_error:.0f} at {world}"
                for world, m in self.missed.items()
            )
            notes.append(
                "New edges are looked for between people two steps apart (through people of at "
                f"most {HUB} neighbours) and each one's {NEAREST} nearest; those missed elsewhere, "
                f"estimated from every pair of a sample of people, number {shown}. A higher "
                "exact_up_to looks at every pair."
            )
        return tuple(notes)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned."""
        facts: dict[str, Any] = {
            "kind": self.kind,
            "gate": self.gate,
            "shortcoming": self.shortcoming,
            "missed": {k: [m.expected, m.standard_error] for k, m in self.missed.items()},
        }
        if self.model is None or self.held_out is None:
            return {}, facts
        held = self.held_out
        facts["held_out"] = {
            "auc": held.auc,
            "auc_without_degrees": held.auc_without_degrees,
            "expected": held.expected,
            "actual": held.actual,
        }
        arrays = {
            "columns": self.model.terms.columns,
            "scale": self.model.terms.scale,
            "theta": self.model.fit.theta,
            "variance": self.model.fit.variance,
            "bins": np.array(held.bins),
        }
        return {key: torch.from_numpy(value) for key, value in arrays.items()}, facts

    @staticmethod
    def from_state(tensors: dict[str, Tensor], facts: dict[str, Any]) -> FittedEdges:
        """The edges that `state` described."""
        arrays = {key: tensor.numpy() for key, tensor in tensors.items()}
        model, held_out = None, None
        if arrays:
            terms = EDGE_TERMS[facts["kind"]](arrays["columns"], arrays["scale"])
            model = EdgeModel(terms, Fit(arrays["theta"], arrays["variance"]))
            bins = tuple((e, a) for e, a in arrays["bins"].tolist())
            held_out = EdgeQuality(**facts["held_out"], bins=bins)
        missed = {name: Missed(*values) for name, values in facts["missed"].items()}
        return FittedEdges(
            facts["kind"], model, held_out, facts["shortcoming"], facts["gate"], missed
        )
