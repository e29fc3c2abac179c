"""The causal models that Gear is trained for, and people as these models move them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal import (
    FEATURE_MODELS,
    Columns,
    Diagram,
    FeatureModel,
    FeatureSequential,
    feature_model,
)
from fairgear.causal.diagram import SUFFIXES
from fairgear.errors import FairgearError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import BANDS, SMALL_GROUP, other_groups, quantile_levels
from fairgear.hashing import node_uniform
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.config import FAMILY
from fairgear.methods.ranks import RankScores
from fairgear.tensor_files import take

Floats = NDArray[np.float64]
# Added to the seed of the maps' noise: who gets which of several shared values must not be what an
# audit with the same seed draws.
_OWN_NOISE = 2**40
# People whose rows are moved at a time.
_CHUNK = 2**16
# Draws of the family that people are moved by, and bytes of the result; large graphs get fewer.
_DRAWS, _KEPT = 6, 2 * 2**30
# Standard deviations from the mean beyond which values are not distinguished.
_FURTHEST = 8.0


class Family:
    """Fitted feature models, and what the network sees of people.

    A person's views are their features as they are, and as each model moves them to every other
    group: scaled values, then ranks. The network sees the mean of the views, every group counting
    the same. It stays nearly the same if a model moves the person; it stays exactly so for a
    single model whose maps compose. Where the attribute is a number, its levels take the place of
    the groups.

    Args:
        models: fitted feature models.
        scaler: of the features.
        ranks: of the scaled features.
        seed: of the noise of maps where several people share a value.
        views: whether the moved rows count; otherwise people are seen as they are.
        groups: how many there are; 0 where the attribute is a number.
        levels: the values of a number that people are seen at.
    """

    def __init__(
        self,
        models: Sequence[FeatureModel],
        scaler: FeatureScaler,
        ranks: RankScores,
        seed: int,
        views: bool = True,
        groups: int = 2,
        levels: Sequence[float] = (),
    ) -> None:
        self.models = tuple(models)
        self.groups, self.levels = groups, tuple(levels)
        self.ranks = ranks
        self.views = views
        self.scaler = scaler
        self.seed = seed

    @classmethod
    def fit(
        cls,
        models: Sequence[FeatureModel],
        graph: SensitiveGraph,
        people: NDArray[np.bool_],
        scaler: FeatureScaler,
        ranks: RankScores,
        seed: int,
        views: bool = True,
    ) -> Self:
        """Fit the models to the rows of some people, given as a mask in canonical order."""
        order = graph.canonical.rows
        table, sens = _table(graph.x[order]), graph.sens.cpu()[order].numpy()
        columns = Columns.of(graph)
        fitted = [model.fit(table, sens, columns, people) for model in models]
        if graph.continuous:
            levels = quantile_levels(sens[people]).tolist()
            return cls(fitted, scaler, ranks, seed, views, 0, levels)
        return cls(fitted, scaler, ranks, seed, views, graph.num_groups)

    def to(self, device: torch.device) -> Self:
        """Itself, with scaler and ranks on a device."""
        self.scaler.to(device)
        self.ranks.to(device)
        return self

    @property
    def width(self) -> int:
        """Columns of what the network sees."""
        return 2 * len(self.scaler.mean)

    def moved(self, model: int, x: Tensor, sens: Tensor, target: Tensor, node_id: Tensor) -> Tensor:
        """Rows of a graph's features, had everybody had the value `target` (m,)."""
        before, after = sens.cpu().numpy(), target.cpu().numpy()
        rows = self.models[model].moved(
            _table(x), before, after, node_id.cpu(), seed=self.seed + _OWN_NOISE
        )
        return torch.from_numpy(rows)

    def seen(self, x: Tensor, sens: Tensor, node_id: Tensor) -> Tensor:
        """What the network sees (m, width) of rows of a graph, on the scaler's device."""
        if self.views and self.levels:
            at = (torch.full_like(sens, level) for level in self.levels)
            # One after another: a sum over a stack rounds otherwise for other numbers of rows.
            first, *others = (self._mean_view(x, sens, target, node_id) for target in at)
            return sum(others, first) / len(self.levels)
        own = self._view(x)
        if not self.views:
            return own
        for step in range(1, self.groups):
            target = (sens + step) % self.groups
            own = own + self._mean_view(x, sens, target, node_id)
        return own / self.groups

    def _mean_view(self, x: Tensor, sens: Tensor, target: Tensor, node_id: Tensor) -> Tensor:
        """The mean over the models."""
        models = range(len(self.models))
        views = [self._view(self.moved(one, x, sens, target, node_id)) for one in models]
        return torch.stack(views).mean(dim=0)

    def seen_in(self, graph: SensitiveGraph, rows: Tensor | None = None) -> Tensor:
        """The same of everybody in a graph, or of some rows."""
        self.scaler.check(graph)
        rows = torch.arange(len(graph.x)) if rows is None else rows.cpu()
        found = torch.empty(len(rows), self.width, device=self.scaler.mean.device)
        for begin in range(0, len(rows), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            found[part] = self.seen(*_rows_of(graph, rows[part]))
        return found

    def _view(self, x: Tensor) -> Tensor:
        """Scaled values, then ranks."""
        scaled = self.scaler.scaled(x)
        return torch.cat([scaled.clamp(-_FURTHEST, _FURTHEST), self.ranks(scaled)], dim=-1)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned, as `from_state` reads it."""
        tensors: dict[str, Tensor] = {}
        models: list[dict[str, Any]] = []
        for number, model in enumerate(self.models):
            own, about = model.state()
            tensors |= {f"family.{number}.{name}": value for name, value in own.items()}
            shapes = {name: list(value.shape) for name, value in own.items()}
            models.append({"model": about, "tensors": shapes})
        facts = {"models": models, "seed": self.seed, "groups": self.groups}
        return tensors, facts | ({"levels": list(self.levels)} if self.levels else {})

    @classmethod
    def from_state(
        cls,
        path: Path,
        tensors: dict[str, Tensor],
        facts: dict[str, Any],
        scaler: FeatureScaler,
        ranks: RankScores,
        views: bool,
    ) -> Self:
        """The family that `state` described, from the file at `path`."""
        models = []
        for number, about in enumerate(facts["models"]):
            own = {
                name: take(path, tensors, f"family.{number}.{name}", torch.Size(shape))
                for name, shape in about["tensors"].items()
            }
            models.append(FeatureModel.from_state(own, about["model"]))
        groups, levels = int(facts.get("groups", 2)), [float(of) for of in facts.get("levels", ())]
        return cls(models, scaler, ranks, int(facts["seed"]), views, groups, levels)


def models_of(causal: str) -> list[FeatureModel]:
    """The feature models that a setting `causal` names, not fitted yet.

    Args:
        causal: "family", names joined by "+", or the path of a diagram.
    """
    if Path(causal).suffix.lower() in SUFFIXES:
        return [FeatureSequential(diagram=Diagram.read(causal))]
    names = FAMILY if causal == "family" else tuple(re.split(r"[+,\s]+", causal.strip()))
    unknown = [name for name in names if name not in FEATURE_MODELS]
    if unknown or len(set(names)) < len(names):
        raise ParameterError(
            "causal",
            repr(causal),
            f"family, some of {', '.join(FEATURE_MODELS)} joined by +, or a diagram's file",
            "correct it, or leave it out for the family",
        )
    return [FEATURE_MODELS[name]() for name in names]


def learners(graph: SensitiveGraph) -> NDArray[np.bool_]:
    """Those whom maps are learned from, in canonical order: training people where they suffice."""
    order = graph.canonical.rows
    sens = graph.sens.cpu()[order].numpy()
    train, val = (mask.cpu()[order].numpy() for mask in (graph.train_mask, graph.val_mask))
    for people in (train, train | val):
        if graph.continuous:
            fewest = people.sum() // BANDS if len(np.unique(sens[people])) > 1 else 0
        elif graph.attributes is not None:
            fewest = graph.attributes.fewest(sens[people])
        else:
            fewest = min(np.bincount(sens[people], minlength=2))
        if fewest >= SMALL_GROUP:
            return np.asarray(people)
    return np.ones(len(sens), dtype=np.bool_)


class MovedPeople:
    """What the network sees of people whom the family has moved to another value.

    The family of a judge is fitted to other people, and fewer, and differs from this one by chance.
    So people are moved by several draws of the family: by maps from all learners, then by maps from
    random thirds of them. Of several other groups, each draw has one for each person; of a number,
    the value of somebody among the learners.

    Args:
        family: what the network sees people by.
        graph: the graph.
        seed: of the thirds.
    """

    def __init__(self, family: Family, graph: SensitiveGraph, seed: int) -> None:
        self.models, self.groups = len(family.models), family.groups
        order = graph.canonical.rows
        each = 4 * self.models * family.width * len(order)
        self.draws = max(1, min(_DRAWS, _KEPT // max(1, each)))
        size = (len(order), self.draws, self.models, family.width)
        self._seen = torch.empty(size, device=family.scaler.mean.device)
        draws = list(_draws(family, graph, self.draws, seed))
        own, ids = (of.cpu()[order] for of in (graph.sens, graph.node_id))
        noise = [node_uniform(ids, seed, f"target{draw}").numpy() for draw in range(self.draws)]
        if family.groups:
            found = [other_groups(own.numpy(), one, family.groups) for one in noise]
        else:
            law = np.sort(own.numpy()[learners(graph)])
            places = np.minimum((np.stack(noise) * len(law)).astype(np.int64), len(law) - 1)
            found = list(law[places])
        targets = torch.from_numpy(np.stack(found, axis=1))
        self._targets = targets.to(self._seen.device)
        for begin in range(0, len(order), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            x, sens, node_id = _rows_of(graph, order[part])
            for number, other in enumerate(draws):
                target = targets[part, number]
                for model in range(self.models):
                    new = other.moved(model, x, sens, target, node_id)
                    self._seen[part, number, model] = family.seen(new, target, node_id)

    def __call__(self, rows: Tensor, model: Tensor, draw: Tensor) -> Tensor:
        """What the network sees (m, width) of people by their place in canonical order.

        One model and one draw for each.
        """
        return self._seen[rows, draw, model]

    def target(self, rows: Tensor, draw: Tensor) -> Tensor:
        """The value (m,) that each is moved to."""
        return self._targets[rows, draw]


def _draws(family: Family, graph: SensitiveGraph, count: int, seed: int) -> Iterator[Family]:
    """The family itself, then fitted to random thirds of its learners."""
    yield family
    people, rng = learners(graph), np.random.default_rng([seed, 2])
    for _ in range(1, count):
        some = people & (rng.random(len(people)) < 1 / 3)
        try:
            again = [feature_model(model) for model in family.models]
            own = int(rng.integers(2**32))
            yield Family.fit(again, graph, some, family.scaler, family.ranks, own)
        except FairgearError:
            # So few people may lack a group.
            yield family


def _rows_of(graph: SensitiveGraph, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, sens, ids = (of[rows.to(of.device)].cpu() for of in (graph.x, graph.sens, graph.node_id))
    return x, sens, ids


def _table(x: Tensor) -> Floats:
    return np.asarray(x.cpu().double().numpy())
