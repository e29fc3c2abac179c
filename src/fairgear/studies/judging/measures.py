"""Measures: a fitted model on the judged people of a graph, under every causal model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairgear.auditing import Worlds, adapt
from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.effects import Effect
from fairgear.auditing.family import FIXED
from fairgear.auditing.measures import factual_estimates
from fairgear.auditing.notes import models_trained_for
from fairgear.auditing.people import People, select
from fairgear.auditing.sensitivity import average_effect, over_models
from fairgear.decoding import typed
from fairgear.methods import Method
from fairgear.metrics import Interval, auroc, rate_interval
from fairgear.metrics.inputs import Floats, Integers
from fairgear.tensor_files import read_tensors, restoring, write_tensors

LEVEL = 0.95
# Figures of a row, and what the largest flip rate is taken over.
FACTUAL = ("auroc", "accuracy", "f1", "r2", "delta_dp", "delta_eo")
WORST, TRAINED, HELD_OUT, ANY, OWN_RATE = "worst", "trained_worst", "held_out_worst", "any", "own"
FIGURES = (*FACTUAL, WORST, TRAINED, HELD_OUT, ANY, OWN_RATE)


@dataclass(frozen=True)
class Answers:
    """What a model answers for the judged people, and how its answers change by causal model.

    Models of the family that are beliefs count, credible or not; parts of a model do not.
    """

    people: People
    factual: Predictions
    effects: Mapping[str, Effect]
    trained: frozenset[str]

    @classmethod
    def of(cls, model: Method, worlds: Worlds) -> Answers:
        """The answers for the test people of the worlds' graph."""
        adapter = adapt(model)
        adapter.check(worlds)
        rows = select(worlds.graph, None)
        factual = adapter.predict(worlds.factual, rows)
        effects = {
            one.name: average_effect(
                lambda world: adapter.predict(world, rows), one.worlds, factual
            )
            for one in worlds.family.members
            if not one.part and one.error is None
        }
        known = models_trained_for(model, worlds) or ()
        trained = frozenset(name for name in effects if name.removesuffix(FIXED) in known)
        return cls(People.of(worlds.graph, rows), factual, effects, trained)

    @property
    def auroc(self) -> float:
        """On the judged people."""
        return float(auroc(self.people.y, self.factual.scores))

    @property
    def rates(self) -> dict[str, float]:
        """δCF by causal model."""
        return {name: float(effect.flips.by_node.mean()) for name, effect in self.effects.items()}

    def worst(self) -> tuple[float, str]:
        """The largest δCF, and the causal model that it is under."""
        rates = self.rates
        name = max(rates, key=lambda one: rates[one])
        return rates[name], name

    def row(self) -> dict[str, Any]:
        """All figures; the ends of their intervals over people, and every causal model, as JSON."""
        estimates = factual_estimates(self.people, self.factual, [], level=LEVEL, seed=0)
        found = {name: (estimates[name].value, estimates[name].interval) for name in FACTUAL}
        held = [name for name in self.effects if name not in self.trained]
        for figure, models in (
            (WORST, list(self.effects)),
            (TRAINED, sorted(self.trained)),
            (HELD_OUT, held),
            (OWN_RATE, list(self.effects)[:1]),
        ):
            found[figure] = self._largest(models)
        some = over_models(list(self.effects.values()), np.logical_or)
        found[ANY] = (float(some.mean()), self._interval(some))
        by_model = {
            name: [
                self.rates[name],
                name in self.trained,
                *effect.estimate(self.people, LEVEL).interval,
            ]
            for name, effect in self.effects.items()
        }
        ends = {name: list(interval) for name, (_, interval) in found.items() if interval.defined}
        return {
            **{name: found[name][0] for name in FIGURES},
            "worst_model": self.worst()[1],
            "intervals": json.dumps(ends),
            "models": json.dumps(by_model),
        }

    def _largest(self, models: Sequence[str]) -> tuple[float, Interval]:
        """The largest rate, with ends that hold for all models at once (Bonferroni)."""
        if not models:
            return math.nan, Interval(math.nan, math.nan)
        each = 1 - (1 - LEVEL) / len(models)
        ends = [self.effects[name].estimate(self.people, each).interval for name in models]
        largest = max(self.rates[name] for name in models)
        return largest, Interval(max(one.low for one in ends), max(one.high for one in ends))

    def _interval(self, shares: Floats) -> Interval:
        people = self.people
        return rate_interval(shares, people.clusters, level=LEVEL, regions=people.regions)

    def save(self, path: Path) -> None:
        """Keep what a comparison with another model, person by person, needs."""
        flips = np.stack([effect.flips.by_node for effect in self.effects.values()])
        columns = {
            "y": self.people.y,
            "clusters": self.people.clusters,
            "scores": self.factual.scores,
            "labels": self.factual.labels,
            "flips": flips,
        }
        tensors = {name: torch.from_numpy(np.ascontiguousarray(of)) for name, of in columns.items()}
        facts = {"models": list(self.effects), "trained": sorted(self.trained)}
        write_tensors(path, tensors, facts)


@dataclass(frozen=True)
class SavedAnswers:
    """Read again: labels, communities, scores, decisions, and flips (models, people)."""

    y: Integers
    clusters: Integers
    scores: Floats
    labels: Integers
    flips: Floats
    models: tuple[str, ...]
    trained: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> SavedAnswers:
        """What `Answers.save` wrote."""
        tensors, facts = read_tensors(path)
        with restoring(path, tensors):
            columns: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
            models, trained = (typed(tuple[str, ...], facts[key]) for key in ("models", "trained"))
            return cls(**columns, models=models, trained=trained)
