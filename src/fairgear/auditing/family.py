"""The family: the causal models that an audit asks beside its own, and doses of its own.

No data can say which causal model is right. So the audit's question is asked under every model of
a family: how features follow the attribute (each of `FEATURE_MODELS`), crossed with links that
follow too, or stay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.world import Alternative, ByRate, Few, Make, World
from fairgear.causal import (
    FEATURE_MODELS,
    MIXED,
    CausalModel,
    Columns,
    Credibility,
    Dosed,
    FeatureCausalModel,
    FeatureModel,
    LocalWorld,
    attribute_only,
    credibility,
    feature_model,
    features_only,
    structure_only,
    structure_with,
    unsteadiness,
)
from fairgear.causal.features.base import Floats
from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import other_groups
from fairgear.hashing import node_uniform
from fairgear.progress import bar, quiet

OWN = "own"
# What is added to the name of a model whose links stay.
FIXED = ", links fixed"
# The shares of the groups' difference that the attribute causes, besides all of it.
DOSES = (0.0, 0.25, 0.5, 0.75)
# People whose moves by two halves' maps are compared.
_COMPARED = 4000


@dataclass(frozen=True, eq=False)
class Family:
    """The causal models of an audit.

    Attributes:
        graph: the factual graph.
        own: the causal model of the audit.
        strict: its worlds, by rate; every other model has worlds at the same assignments.
        seed: of the models' noise.
        people: mask (n,) of those whom feature maps are learned from; None for everybody.
    """

    graph: SensitiveGraph
    own: CausalModel
    strict: ByRate
    seed: int
    people: Tensor | None

    @cached_property
    def members(self) -> list[Alternative]:
        """The own model first; then other features; then each with links fixed; then parts."""
        meaning = "The causal model of this audit."
        own = Alternative(OWN, meaning, self.strict, local=self.local(), check=self._check_own)
        believed = [own, *(self._with_features(name) for name in self._other_features)]
        fixed = [self._links_fixed(one) for one in believed if self._moves_links]
        return [*believed, *fixed, *self.parts]

    @cached_property
    def parts(self) -> list[Alternative]:
        """What the own model changes, one thing alone."""
        links = self._made(
            "structure only",
            "Links change as in the audit's own model; features stay, except for the attribute.",
            lambda world: structure_only(self.graph, world.graph),
            part=True,
        )
        return [*([links] if self._moves_links else []), attribute_alone(self.graph, self.strict)]

    def dosed(self, share: float) -> ByRate:
        """The own model's worlds, had the attribute caused only a share of the difference.

        They are not kept: each is built when it is scored.
        """
        dose = f"dose {share:g}"
        own = self.own
        if isinstance(own, FeatureCausalModel):
            made = own.with_features(Dosed(own.feature_model, share))
            return _like(self.strict, dose, lambda w: self._counterfactual(made, w))
        x = self.graph.x

        def make(world: World) -> SensitiveGraph:
            # A model without a table: its features are taken to be numbers.
            mixed = world.graph.x if share == 1 else x + share * (world.graph.x - x)
            return structure_with(world.graph, mixed)

        return _like(self.strict, dose, make)

    def local(self, share: float = 1.0) -> Few:
        """The own model's worlds in which few people change, by a share of the difference."""
        own, x = self.own, self.graph.x
        if share == 1:
            return partial(own.local, self.graph, seed=self.seed)
        if isinstance(own, FeatureCausalModel):
            made = own.with_features(Dosed(own.feature_model, share))
            return partial(made.local, self.graph, seed=self.seed)

        def few(rows: Tensor, sens: Tensor) -> LocalWorld:
            world = own.local(self.graph, rows, sens, seed=self.seed)
            old = x[world.rows.to(x.device)].cpu()
            return world.with_features(old + share * (world.x - old))

        return few

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of(self.graph)

    @cached_property
    def _moves_links(self) -> bool:
        return any(
            not torch.equal(draws[0].graph.edge_index, self.graph.edge_index)
            for draws in self.strict.values()
        )

    @property
    def _other_features(self) -> list[str]:
        """Feature models other than the own one; along a diagram, the own is another model."""
        own = self.own
        if not isinstance(own, FeatureCausalModel):
            return list(FEATURE_MODELS)
        return [name for name in FEATURE_MODELS if not own.feature_model.is_like(name)]

    def _check_own(self) -> Credibility | None:
        if self.own.exact:
            return None
        steady = math.nan
        if isinstance(self.own, FeatureCausalModel):
            steady = self._unsteadiness(self.own.feature_model)
        return self._credibility(self.strict, steady)

    def _credibility(self, worlds: ByRate, steady: float) -> Credibility:
        # At one value of a number there are no real people to compare with: all values, mixed.
        mixed = self.graph.continuous
        chosen = {int(at): of[0].graph for at, of in worlds.items() if (at == MIXED) == mixed}
        return credibility(self.graph, chosen, people=self.people, unsteadiness=steady)

    def _with_features(self, name: str) -> Alternative:
        meaning = (
            f"Features are moved {FEATURE_MODELS[name].how}; links follow as in the audit's own "
            "model."
        )
        try:
            # Fitting may show bars of its own, and there is one line for them.
            with bar(f"fitting another causal model, {name}", total=1), quiet():
                model = self._fitted(name)
        except FairgearError as error:
            return Alternative(name, meaning, {}, error=str(error))
        worlds = _like(self.strict, name, self._make(model))

        def check() -> Credibility:
            return self._credibility(worlds, self._unsteadiness(model))

        return Alternative(name, meaning, worlds, local=self._moving(model), check=check)

    def _moving(self, model: FeatureModel) -> Few:
        """As `_make`, where few people change."""
        own, graph = self.own, self.graph
        if isinstance(own, FeatureCausalModel):
            return partial(own.with_features(model).local, graph, seed=self.seed)

        def few(rows: Tensor, sens: Tensor) -> LocalWorld:
            world = own.local(graph, rows, sens, seed=self.seed)
            here = world.rows
            before, ids = (of[here.to(of.device)].cpu() for of in (graph.sens, graph.node_id))
            old = graph.x[here.to(graph.x.device)].cpu().double().numpy()
            groups = before.numpy(), world.sens.numpy()
            moved = model.moved(old, *groups, ids, seed=self.seed)
            return world.with_features(torch.from_numpy(moved))

        return few

    def _make(self, model: FeatureModel) -> Make:
        """Worlds by another feature model, with the links that the own model gives."""
        own, graph = self.own, self.graph
        if isinstance(own, FeatureCausalModel):
            made = own.with_features(model)
            return lambda world: self._counterfactual(made, world)
        table, before = self._table
        ids, rows = graph.node_id[graph.canonical.rows], graph.canonical.rows

        def make(world: World) -> SensitiveGraph:
            after = world.sens.cpu()[rows].numpy()
            x = torch.empty_like(graph.x, device="cpu")
            x[rows] = torch.from_numpy(model.moved(table, before, after, ids, seed=self.seed)).to(x)
            return structure_with(world.graph, x.to(graph.x.device))

        return make

    def _counterfactual(self, model: CausalModel, world: World) -> SensitiveGraph:
        return model.counterfactual(self.graph, world.sens, seed=self.seed)

    @cached_property
    def _table(self) -> tuple[Floats, NDArray[Any]]:
        """The table that feature models move, and the attribute, in canonical order."""
        if isinstance(self.own, FeatureCausalModel):
            return self.own.table(self.graph)
        rows = self.graph.canonical.rows
        return self.graph.x.cpu()[rows].double().numpy(), self.graph.sens.cpu()[rows].numpy()

    @cached_property
    def _learners(self) -> NDArray[np.bool_]:
        """In canonical order: whom maps are learned from."""
        if self.people is None:
            return np.ones(len(self.graph.x), dtype=np.bool_)
        return np.asarray(self.people.cpu()[self.graph.canonical.rows].numpy())

    def _fitted(
        self, model: str | FeatureModel, among: NDArray[np.bool_] | bool = True
    ) -> FeatureModel:
        """A feature model of this kind, learned from those learners who are among some people."""
        return feature_model(model).fit(*self._table, self._columns, self._learners & among)

    def _unsteadiness(self, model: FeatureModel) -> float:
        table, sens = self._table
        ids = self.graph.node_id.cpu()[self.graph.canonical.rows]
        place = node_uniform(ids, 0, "halves").numpy()
        some = np.sort(np.argsort(place, kind="stable")[:_COMPARED])
        target = self._others(sens[some], place[some])

        def moved(by: FeatureModel) -> Floats:
            return by.moved(table[some], sens[some], target, ids[some], seed=self.seed)

        try:
            halves = [self._fitted(model, half) for half in (place < 0.5, place >= 0.5)]
        except FairgearError:
            # Half of the people may lack a group.
            return math.nan
        used = [k for k in range(table.shape[1]) if k != self.graph.sens_column]
        one, other, whole = (moved(by)[:, used] for by in (*halves, model))
        return unsteadiness(one, other, whole, table[some][:, used])

    def _others(self, sens: NDArray[Any], place: Floats) -> NDArray[Any]:
        """Another group for each of some people; of a number, the value of one of them."""
        if self.graph.continuous:
            drawn: Floats = np.quantile(sens, place, method="inverted_cdf")
            return drawn
        return other_groups(sens, place, self.graph.num_groups)

    def _links_fixed(self, one: Alternative) -> Alternative:
        fixed = "everybody keeps their links."
        meaning = f"Features move as in the audit's own model; {fixed}"
        if one.name != OWN:
            meaning = f"{one.meaning.partition(';')[0]}; {fixed}"
        return Alternative(
            one.name + FIXED,
            meaning,
            _like(one.worlds, one.name + FIXED, self._without_links),
            one.error,
            check=lambda: one.credibility,
        )

    def _without_links(self, world: World) -> SensitiveGraph:
        return features_only(self.graph, world.graph)

    def _made(self, name: str, meaning: str, make: Make, *, part: bool) -> Alternative:
        return Alternative(name, meaning, _like(self.strict, name, make), part=part)


def attribute_alone(graph: SensitiveGraph, strict: ByRate) -> Alternative:
    """Worlds in which nothing follows from the attribute; they need no causal model."""
    name = "attribute only"
    return Alternative(
        name,
        "Nothing follows from the attribute: only its own column changes.",
        _like(strict, name, lambda world: attribute_only(graph, world.sens)),
        part=True,
    )


def _like(worlds: ByRate, protocol: str, make: Make) -> ByRate:
    """Worlds at the same assignments, each made from the one that is there."""

    def other(world: World) -> World:
        return World(protocol, world.intervention, world.draw, world.sens, lambda: make(world))

    return {rate: [other(world) for world in draws] for rate, draws in worlds.items()}
