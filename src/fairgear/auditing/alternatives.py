"""Other causal models that one could believe in, and their worlds: does the verdict hang on one?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from fairgear.auditing.world import World
from fairgear.causal import (
    FEATURE_MODELS,
    CausalModel,
    FittedCausalModel,
    SimilarityCausalModel,
    attribute_only,
    features_only,
    structure_only,
    structure_with,
)
from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph
from fairgear.progress import bar, quiet

# From a world of the audit's own causal model to the other's at the same assignment.
Make = Callable[[World], SensitiveGraph]
ByRate = Mapping[float, Sequence[World]]


@dataclass(frozen=True)
class Alternative:
    """Another causal model, at the assignments of the audit's own.

    Attributes:
        name: also the protocol of its worlds.
        meaning: what it takes the attribute to change.
        worlds: by rate; empty where the model cannot be had.
        error: why it cannot.
    """

    name: str
    meaning: str
    worlds: dict[float, list[World]]
    error: str | None = None


def alternatives(
    graph: SensitiveGraph, own: CausalModel, strict: ByRate, *, seed: int
) -> list[Alternative]:
    """The causal models to hold the audit's own against; their worlds are made when asked for.

    Args:
        graph: the factual graph.
        own: the audit's causal model.
        strict: its worlds, by rate.
        seed: of the models' noise.
    """
    other = "shift" if _features_of(own) == "quantile" else "quantile"
    return [
        _fitted(
            strict,
            other,
            f"Features are moved {FEATURE_MODELS[other].how}; links follow as in the audit's own "
            "model.",
            lambda: _other_features(graph, own, other, seed),
        ),
        _made(
            strict,
            "features only",
            "Features move as in the audit's own model; everybody keeps their links.",
            lambda world: features_only(graph, world.graph),
        ),
        _made(
            strict,
            "structure only",
            "Links change as far as they do in the audit's own model; features stay, but for the "
            "attribute.",
            lambda world: structure_only(graph, world.graph),
        ),
        attribute_alternative(graph, strict),
        _fitted(
            strict,
            "cosine edges",
            "Links follow the paper's equation, the cosine of features and the same group, fitted "
            "to this graph.",
            lambda: _cosine_edges(graph, own, seed),
        ),
    ]


def attribute_alternative(graph: SensitiveGraph, strict: ByRate) -> Alternative:
    """Nothing follows from the attribute: neither features nor links."""
    return _made(
        strict,
        "attribute only",
        "Nothing follows from the attribute: only its own column changes.",
        lambda world: attribute_only(graph, world.sens),
    )


def _made(strict: ByRate, name: str, meaning: str, make: Make) -> Alternative:
    def other(world: World) -> World:
        return World(name, world.intervention, world.draw, world.sens, lambda: make(world))

    made = {rate: [other(world) for world in draws] for rate, draws in strict.items()}
    return Alternative(name, meaning, made)


def _fitted(strict: ByRate, name: str, meaning: str, fit: Callable[[], Make]) -> Alternative:
    """An alternative that must be fitted first, which not every graph allows."""
    try:
        # Fitting may show bars of its own, and there is one line for them.
        with bar(f"fitting another causal model, {name}", total=1), quiet():
            make = fit()
    except FairgearError as error:
        return Alternative(name, meaning, {}, error=str(error))
    return _made(strict, name, meaning, make)


def _other_features(graph: SensitiveGraph, own: CausalModel, features: str, seed: int) -> Make:
    """The own model with another feature model; put on top of models that know no other."""
    if isinstance(own, SimilarityCausalModel):
        return _asking(graph, seed, SimilarityCausalModel(features).fit(graph))
    if isinstance(own, FittedCausalModel):
        fitted = FittedCausalModel(
            features, own.edges, gate=own.gate, exact_up_to=own.exact_up_to, seed=own.seed
        )
        return _asking(graph, seed, fitted.fit(graph))
    table = graph.x.cpu().double().numpy()
    before, ids = graph.sens.cpu().numpy(), graph.node_id.cpu()
    rows = graph.canonical.rows.numpy()
    model = FEATURE_MODELS[features]().fit(table[rows], before[rows], graph.sens_column)

    def make(world: World) -> SensitiveGraph:
        moved = model.moved(table, before, world.sens.cpu().numpy(), ids, seed=seed)
        return structure_with(world.graph, torch.from_numpy(moved).to(graph.x))

    return make


def _cosine_edges(graph: SensitiveGraph, own: CausalModel, seed: int) -> Make:
    # Ungated: held fixed, the links would be those of "features only".
    model = FittedCausalModel(_features_of(own), "cosine", gate=False)
    return _asking(graph, seed, model.fit(graph))


def _features_of(own: CausalModel) -> str:
    if isinstance(own, SimilarityCausalModel | FittedCausalModel):
        return own.features
    return "shift"


def _asking(graph: SensitiveGraph, seed: int, model: CausalModel) -> Make:
    return lambda world: model.counterfactual(graph, world.sens, seed=seed)
