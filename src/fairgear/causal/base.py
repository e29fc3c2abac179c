"""The interface of causal models: what would this graph be, had sens been another?"""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from fairgear.causal.diagnostics import Diagnostics, diagnose
from fairgear.causal.features import FeatureModel
from fairgear.causal.features.base import Floats, Integers
from fairgear.causal.local import LocalWorld, changing
from fairgear.errors import FileError, GraphError, NotFittedError
from fairgear.graph import SensitiveGraph
from fairgear.registry import Registry
from fairgear.tensor_files import damaged, read_tensors, restoring, write_tensors


class CausalModel(ABC):
    """A model of how the sensitive attribute shapes features, edges and labels.

    Two laws bind every model. Identity: `counterfactual(graph, graph.sens)` is the graph itself,
    exactly. Shared noise: every world uses the same noise, one draw per person and per pair, a
    function of the seed and the node ids, so two worlds differ only by what the attribute
    changes. `docs/development/your-own-causal-model.md` says how to write your own.

    Example:
        >>> import torch
        >>> import fairgear as fg
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> model = fg.causal.for_graph(graph)
        >>> world = model.counterfactual(graph, torch.ones(200, dtype=torch.int64))
        >>> int(world.sens.sum()), world.num_nodes
        (200, 200)
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = False
    """Whether its equations are those that made the graph, rather than a model of them."""

    _fitted: SensitiveGraph | None = None
    _people: Tensor | None = None
    _restored: bool = False

    def __repr__(self) -> str:
        arguments = inspect.signature(type(self)).parameters
        shown = [f"{key}={getattr(self, key)!r}" for key in arguments if hasattr(self, key)]
        return f"{type(self).__name__}({', '.join(shown)})"

    def fit(self, graph: SensitiveGraph, people: Tensor | None = None) -> Self:
        """Learn from the factual graph, without its labels and masks.

        Args:
            graph: the factual graph.
            people: whom the maps of features are learned from, True or False (n,); everybody if
                not given. What is learned of edges is always learned from the whole graph.
        """
        if people is not None and (people.dtype != torch.bool or people.shape != graph.sens.shape):
            got = f"{people.dtype}, shape {tuple(people.shape)}"
            allowed = f"{len(graph.sens)} values, each True or False"
            raise GraphError("people to learn from", got, allowed, "pass one value per person")
        # An attribute, not an argument: `_fit(graph)` is what models of others implement.
        self._people = None if people is None else people.cpu()
        try:
            self._fit(graph)
        finally:
            del self._people
        self._fitted = graph
        return self

    @abstractmethod
    def _fit(self, graph: SensitiveGraph) -> None:
        """What `fit` does; models with nothing to learn check that they can answer for `graph`."""

    @abstractmethod
    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """The graph as it would be, had its sensitive attribute been `sens`.

        Args:
            graph: the factual graph.
            sens: the new values (n,), or one value for everyone.
            seed: of the noise, for models that have any.
        """

    def local(
        self, graph: SensitiveGraph, rows: Tensor, sens: Tensor, *, seed: int = 0
    ) -> LocalWorld:
        """What would change, had the people in `rows` the attribute `sens` and all others theirs.

        Its `graph()` is what `counterfactual` gives. This takes the difference of that, which costs
        a graph; models that know more give their own form, which costs a person's surroundings.
        """
        values = graph.sens.clone()
        found, new = changing(graph, rows, sens)
        values[torch.from_numpy(found).to(values.device)] = torch.from_numpy(new).to(values)
        return LocalWorld.between(graph, lambda: self.counterfactual(graph, values, seed=seed))

    def diagnostics(
        self,
        graph: SensitiveGraph | None = None,
        *,
        seed: int = 0,
        worlds: Mapping[float, SensitiveGraph] | None = None,
    ) -> Diagnostics:
        """What the model does to a graph when everyone, nobody or half of the people are set to 1.

        The graph is that of `fit` if not given; `seed` is that of the half and of the model's
        noise. `worlds` are those at the rates 0, 0.5 and 1, if they exist already.
        """
        graph = self._fitted if graph is None else graph
        if graph is None:
            allowed = "a graph, for models that were loaded from a file"
            what = f"diagnostics of a causal model {self.name!r}"
            raise NotFittedError(what, "no graph", allowed, "pass the graph")
        return diagnose(self, graph, seed=seed, worlds=worlds)

    @property
    def notes(self) -> tuple[str, ...]:
        """Plain sentences that every result of this model must be read with."""
        return ()

    def _diagram(self) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
        """The parents of each node of a causal diagram, and the nodes that keep their values."""
        return {}, ()

    def _quality(self) -> dict[str, Any]:
        """How well the model describes the graph, if that was measured; JSON-ready."""
        return {}

    def save(self, path: Path | str) -> None:
        """Write what was learned to one safetensors file."""
        if self._fitted is None and not self._restored:
            raise self._not_fitted()
        tensors, facts = self._state()
        write_tensors(Path(path), tensors, {"causal_model": self.name, "state": facts})

    def fingerprint(self) -> str:
        """SHA-256 of the kind of model and of what was learned."""
        tensors, facts = self._state()
        digest = hashlib.sha256(json.dumps([self.name, facts], sort_keys=True).encode())
        for name, tensor in sorted(tensors.items()):
            digest.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A fitted model from the file that `save` wrote; `CausalModel.load` loads any kind."""
        tensors, facts = read_tensors(Path(path))
        name, state = facts.get("causal_model"), facts.get("state")
        if not isinstance(name, str) or not isinstance(state, dict):
            raise damaged(Path(path))
        kind = cls if getattr(cls, "name", None) == name else CAUSAL_MODELS[name]
        if not issubclass(kind, cls):
            got, step = f"a model of the kind {kind.name!r}", "load it with CausalModel.load"
            raise FileError(f"causal model {path}", got, repr(cls.name), step)
        model = kind()
        with restoring(Path(path), tensors, state):
            model._restore(tensors, state)
        model._restored = True
        return model

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned: tensors and JSON-ready facts. Nothing, unless overridden."""
        return {}, {}

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Restore what `_state` returned."""
        return None

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(
            f"a causal model {self.name!r} that was never fitted",
            "a call that needs a fitted model",
            "calls after fit",
            "call fit(graph) first, or use fairgear.causal.for_graph",
        )


class FeatureCausalModel(CausalModel):
    """A causal model that moves the rows of a table by a feature model, and edges after them.

    Example:
        >>> from fairgear.causal import FeatureCausalModel, for_graph
        >>> from fairgear.testing import toy_graph
        >>> model = for_graph(toy_graph())
        >>> isinstance(model, FeatureCausalModel), model.features
        (True, 'shift')
    """

    feature_model: FeatureModel

    @property
    def features(self) -> str:
        """The name of the feature model."""
        return self.feature_model.name

    def _diagram(self) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
        diagram = getattr(self.feature_model, "diagram", None)
        if diagram is None:
            return {}, ()
        kept = (*self.feature_model.resolving, *diagram.resolving)
        return dict(diagram.parents), tuple(dict.fromkeys(kept))

    @abstractmethod
    def table(self, graph: SensitiveGraph) -> tuple[Floats, Integers]:
        """The rows that the feature model moves, and the attribute, in canonical order."""

    def with_features(self, model: FeatureModel) -> Self:
        """The same with another fitted feature model; edges follow as before."""
        made = copy.copy(self)
        made.feature_model = model
        return made


CAUSAL_MODELS: Registry[type[CausalModel]] = Registry(
    "causal model", group="fairgear.causal_models", base=CausalModel
)
