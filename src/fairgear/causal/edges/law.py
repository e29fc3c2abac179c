"""The edge law of a fitted causal model: an edge model, its quality, and whether edges may move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.edges.candidates import HUB, NEAREST, Candidates, Missed
from fairgear.causal.edges.kernel import Integers
from fairgear.causal.edges.model import EdgeModel, World
from fairgear.causal.edges.near_lists import LISTED_ABOVE, NearLists
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.regression import EdgeQuality
from fairgear.causal.edges.terms import EDGE_TERMS
from fairgear.files import json_ready

# Edges (or non-edges, in a nearly complete graph) per parameter, a common rule of thumb.
LEAST_PER_PARAMETER = 10


@dataclass(frozen=True, eq=False)
class EdgeLaw:
    """How the edges of one graph come about.

    Attributes:
        kind: "distance" or "cosine".
        model: None if there was nothing to fit.
        held_out: its quality on held-out pairs.
        shortcoming: why it is not good enough, if so.
        gate: whether a shortcoming keeps the edges fixed.
        missed: by world, the new edges outside the candidates, if not every pair is considered.
    """

    kind: str
    model: EdgeModel | None
    held_out: EdgeQuality | None
    shortcoming: str | None
    gate: bool
    missed: Mapping[str, Missed] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: str, factual: Factual, skip: int | None, *, gate: bool, seed: int) -> EdgeLaw:
        """Fit the edges of a graph; `skip` is its sensitive column."""
        terms = EDGE_TERMS[kind].of(factual.table, skip, factual.groups, factual.code)
        edges, pairs = factual.edges.shape[1], factual.num_pairs
        rarer, short = min(edges, pairs - edges), None
        if rarer < LEAST_PER_PARAMETER * len(terms.parameters):
            short = f"{edges} edges among {pairs} pairs are too few to fit"
        if rarer == 0:
            return cls(kind, None, None, short, gate)
        model, held_out = EdgeModel.fitted(terms, factual, seed=seed)
        return cls(kind, model, held_out, short or held_out.shortcoming(), gate)

    @property
    def open(self) -> bool:
        """Whether edges move."""
        return self.model is not None and (self.shortcoming is None or not self.gate)

    def pairs(
        self, world: World, seed: int, *, exact: bool, lists: NearLists | None = None
    ) -> Integers:
        """The edges (2, m) of a world."""
        assert self.model is not None
        if exact:
            return self.model.edges(world, seed)
        return Candidates(self.model, world, lists).edges(seed)

    def near_lists(
        self, factual: Factual, values: NDArray[Any], world: Callable[[Any], World]
    ) -> NearLists | None:
        """Who is near whom, where a graph is too large to ask in every world; see `NearLists`."""
        if self.model is None or factual.n <= LISTED_ABOVE:
            return None
        return NearLists(self.model.terms, values, world, NEAREST + 1)

    def with_missed(self, worlds: Mapping[str, World], lists: NearLists | None) -> EdgeLaw:
        """The same law, with estimates of the new edges that the candidates miss."""
        if self.model is None or not self.open:
            return self
        model = self.model
        missed = {name: Candidates(model, world, lists).missed(0) for name, world in worlds.items()}
        return replace(self, missed=missed)

    def quality(self) -> dict[str, Any]:
        """AUC, calibration, parameters with intervals, and whether the gate is open."""
        if self.model is None or self.held_out is None:
            return {"edges": self.kind, "gate_open": False}
        intervals = self.model.intervals().tolist()
        named = zip(self.model.terms.parameters, self.model.theta, intervals, strict=True)
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
            result["new_edges_missed"] = {world: asdict(m) for world, m in self.missed.items()}
        ready: dict[str, Any] = json_ready(result)
        return ready

    def notes(self) -> tuple[str, ...]:
        """Sentences that every result of the model must be read with."""
        if self.shortcoming is not None and not self.open:
            return (f"Edges are held fixed: {self.shortcoming}.",)
        assert self.held_out is not None
        found = self.held_out
        notes = [
            f"Edges follow a fitted model ({self.kind}): on held-out pairs its AUC is "
            f"{found.auc:.2f}, {found.auc_without_degrees:.2f} by likeness and groups alone, and "
            f"it expects {found.expected:.0f} edges where there are {found.actual:.0f}."
        ]
        if self.shortcoming is not None:
            notes.append(f"It is used although {self.shortcoming}: the gate was turned off.")
        if self.missed:
            shown = ", ".join(
                f"{m.expected:.0f} ± {m.standard_error:.0f} at {world}"
                for world, m in self.missed.items()
            )
            notes.append(
                "New edges are sought between people two steps apart (through people of at most "
                f"{HUB} neighbours) and between each person and the {NEAREST} nearest. Estimated "
                f"from every pair of a sample of people, {shown} are missed. A higher exact_up_to "
                "considers every pair."
            )
        return tuple(notes)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned: tensors and JSON-ready facts."""
        facts: dict[str, Any] = {
            "kind": self.kind,
            "gate": self.gate,
            "shortcoming": self.shortcoming,
            "missed": {k: [m.expected, m.standard_error] for k, m in self.missed.items()},
        }
        if self.model is None or self.held_out is None:
            return {}, facts
        if not self.model.terms.groups:
            facts["code"] = list(self.model.terms.code)
        if self.model.terms.groups != 2:
            # Two groups have the fingerprint that they had when there were no others.
            facts["groups"] = self.model.terms.groups
        facts["held_out"] = asdict(self.held_out)
        bins = facts["held_out"].pop("bins")
        arrays = {
            "columns": self.model.terms.columns,
            "scale": self.model.terms.scale,
            "theta": self.model.theta,
            "variance": self.model.variance,
            "bins": np.array(bins),
        }
        return {key: torch.from_numpy(value) for key, value in arrays.items()}, facts

    @staticmethod
    def from_state(tensors: dict[str, Tensor], facts: dict[str, Any]) -> EdgeLaw:
        """Restore what `state` gave."""
        arrays = {key: tensor.numpy() for key, tensor in tensors.items()}
        model, held_out = None, None
        if arrays:
            groups, (mean, spread) = int(facts.get("groups", 2)), facts.get("code", (0.0, 1.0))
            kind = EDGE_TERMS[facts["kind"]]
            terms = kind(arrays["columns"], arrays["scale"], groups, (mean, spread))
            model = EdgeModel(terms, arrays["theta"], arrays["variance"])
            bins = tuple((e, a) for e, a in arrays["bins"].tolist())
            held_out = EdgeQuality(**facts["held_out"], bins=bins)
        missed = {name: Missed(*values) for name, values in facts["missed"].items()}
        return EdgeLaw(facts["kind"], model, held_out, facts["shortcoming"], facts["gate"], missed)
