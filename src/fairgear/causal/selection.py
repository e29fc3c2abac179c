"""Which causal model answers for a graph: the one that fits it best, or one by name."""

from __future__ import annotations

import os
from pathlib import Path

from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, CausalModel, FeatureCausalModel
from fairgear.causal.diagram import SUFFIXES, Diagram
from fairgear.causal.features import FEATURE_MODELS, FeatureModel, FeatureSequential
from fairgear.causal.fitted import FittedCausalModel
from fairgear.causal.similarity import SimilarityCausalModel
from fairgear.causal.synthetic.mechanism import SyntheticMechanism
from fairgear.causal.synthetic.model import SyntheticCausalModel
from fairgear.errors import ParameterError
from fairgear.evidence import code_file, note_file
from fairgear.graph import SensitiveGraph, SimilarityMechanism

OWN = "own"


def for_graph(graph: SensitiveGraph, people: Tensor | None = None) -> CausalModel:
    """A fitted causal model: by the equations or the rule that made the graph, if it has any.

    `people` is a mask (n,) of those whom feature maps are learned from; everybody if not given.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> fg.causal.for_graph(fg.datasets.load("synthetic", seed=0)).name
        'synthetic'
        >>> fg.causal.for_graph(toy_graph()).name
        'fitted'
    """
    if isinstance(graph.mechanism, SyntheticMechanism):
        return SyntheticCausalModel().fit(graph)
    return with_features("shift", graph, people)


def named(name: str, graph: SensitiveGraph, people: Tensor | None = None) -> CausalModel:
    """A causal model, fitted to the factual graph; `people` as in `for_graph`.

    The name is "own" (see `for_graph`), a feature model's, such as "quantile", which gives the
    graph's own kind of model with features moved that way, a name or MODULE:NAME of
    `CAUSAL_MODELS`, or a file: one that a causal model's `save` wrote, or a `Diagram`, along which
    features are then moved by conditional ranks.

    Example:
        >>> from fairgear.causal import named
        >>> from fairgear.testing import toy_graph
        >>> named("quantile", toy_graph()).features
        'quantile'
    """
    if name == OWN:
        return for_graph(graph, people)
    if name in FEATURE_MODELS:
        return with_features(name, graph, people)
    if Path(name).suffix.lower() in SUFFIXES:
        return with_features(FeatureSequential(diagram=Diagram.read(name)), graph, people)
    if os.path.isfile(name):
        note_file(Path(name))
        return CausalModel.load(name)
    if name not in CAUSAL_MODELS and ":" not in name:
        known = ", ".join((OWN, *FEATURE_MODELS, *CAUSAL_MODELS))
        allowed = f"{known}, MODULE:NAME, a diagram, or a file that save wrote"
        raise ParameterError(
            "causal model", repr(name), allowed, "choose one of them, or check the path"
        )
    kind = CAUSAL_MODELS.resolve(name)
    source = code_file(name)
    if source is not None:
        note_file(source, "causal model")
    return kind().fit(graph, people)


def with_features(
    features: str | FeatureModel, graph: SensitiveGraph, people: Tensor | None = None
) -> FeatureCausalModel:
    """The kind of causal model that a graph's edges call for, with features moved so; fitted.

    Example:
        >>> from fairgear.causal import with_features
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> model = with_features("gaussian", graph)
        >>> model.counterfactual(graph, graph.sens).x.equal(graph.x)
        True
    """
    if isinstance(graph.mechanism, SimilarityMechanism):
        return SimilarityCausalModel(features).fit(graph, people)
    # Where edges have directions or weights, features alone move; "fitted" fits a law of them.
    edges = "distance" if graph.plain else "fixed"
    return FittedCausalModel(features, edges).fit(graph, people)
