"""`Small` with one promise broken in each; `BREAKS` says which checks must notice."""

from __future__ import annotations

import copy
import uuid
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods.base import Labels, Scores
from fairgear.methods.trainable import check_trainable
from tests.testing.small import Small, SmallConfig, SmallTask


def in_two_groups(graph: SensitiveGraph) -> SensitiveGraph:
    """The same people in two groups, whatever s is."""
    sens = (graph.sens > graph.sens.double().mean()).long()
    x = graph.x[:, [0]]
    return graph.replace(
        x=x, feature_names=["x"], sens=sens, sens_kind="binary", sens_column=None, attributes=None
    )


BREAKS: dict[type[Small], set[str]] = {}


def breaks(*checks: str) -> Any:
    def noted(broken: type[Small]) -> type[Small]:
        BREAKS[broken] = set(checks)
        return broken

    return noted


@breaks("constructor")
class DrawsWhenMade(Small):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.noise = float(torch.rand(1))


@breaks("constructor")
class LearnedWhenMade(Small):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.layer = nn.Linear(1, 1, device="meta")


@breaks("constructor")
class HasResultsWhenMade(Small):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.history_ = {"loss": 0.0}


@breaks("constructor", "seeds", "checkpoints")
class ForgetsItsSeed(Small):
    """With one seed for all, the models and checkpoints of others are its own."""

    def __init__(self, *, seed: int = 0, **settings: Any) -> None:
        super().__init__(seed=0, **settings)


@breaks("constructor", "parameters", "save and load")
class ChangesItsSettings(Small):
    def __init__(self, *, hops: int = 1, **settings: Any) -> None:
        super().__init__(hops=hops % 5 + 1, **settings)


@breaks("learning")
class UpsideDown(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        return super().predict_proba(graph, nodes=nodes)[:, ::-1]


@breaks("learning")
class ReturnsAnother(Small):
    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        return copy.copy(super().fit(graph, checkpoint=checkpoint))


@breaks("answers")
class HalfAsPrecise(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        scores: Any = super().predict_proba(graph, nodes=nodes).astype(np.float32)
        return scores  # type: ignore[no-any-return]  # that it is of another type is what is wrong


@breaks("answers")
class MoreThanOne(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        return 1.01 * super().predict_proba(graph, nodes=nodes)


@breaks("answers")
class AnotherThreshold(Small):
    def predict(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Labels:
        return (self.predict_proba(graph, nodes=nodes)[:, 1] > 0.3).astype(np.int64)


@breaks("answers")
class TwiceAsPrecise(Small):
    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Any:
        return super().embed(graph, nodes=nodes).astype(np.float64)


@breaks("seeds")
class OneSeedForAll(Small):
    def drawn_from(self) -> int:
        return 0


@breaks("seeds", "relabelling", "test labels", "side effects", "checkpoints")
class NoSeed(Small):
    """What does not repeat cannot be compared: every check that trains anew notices."""

    def drawn_from(self) -> int:
        return int(torch.randint(10**9, (1,)))


@breaks("save and load")
class SavesRoundedWeights(Small):
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        return {name: tensor.half().to(tensor.dtype) for name, tensor in tensors.items()}, facts


@breaks("save and load")
class TakesAnyFile(Small):
    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._build(facts["width"], facts["column"])
        self.scaler.mean.copy_(tensors.get("scaler.mean", self.scaler.mean))
        self.scaler.scale.copy_(tensors.get("scaler.scale", self.scaler.scale))
        own = {key.removeprefix("layer."): value for key, value in tensors.items()}
        self.layer.load_state_dict(own, strict=False)


@breaks("save and load")
class SavesMore(Small):
    def save(self, path: Path | str) -> None:
        super().save(path)
        (Path(path) / "model.pickle").touch()


@breaks("save and load", "parameters")
class SavesOtherSettings(Small):
    """Neither the settings of the fit nor those that were set since."""

    def save(self, path: Path | str) -> None:
        other = copy.copy(self)
        other._settings = SmallConfig(steps=3)
        Small.save(other, path)


@breaks("save and load")
class ForgetsWhatIsFactual(Small):
    """Looks at the graph of the fit as at no other; a file does not say which that was."""

    links: int | None = None

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        self.links = graph.num_undirected_edges
        return super().fit(graph, checkpoint=checkpoint)

    def columns(self, graph: SensitiveGraph) -> Tensor:
        other = self.links not in (None, graph.num_undirected_edges)
        return super().columns(graph) + (0.1 if other else 0.0)


@breaks("relabelling")
class AsksWhoComesFirst(Small):
    def columns(self, graph: SensitiveGraph) -> Tensor:
        x = super().columns(graph)
        return x + 0.01 * torch.arange(len(x))[:, None] / len(x)


@breaks("relabelling")
class KnowsItsRows(Small):
    """Trained on people in another order it is the same, but not asked about them so."""

    ids: Tensor | None = None

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        self.ids = graph.node_id
        return super().fit(graph, checkpoint=checkpoint)

    def columns(self, graph: SensitiveGraph) -> Tensor:
        other = self.ids is not None and not torch.equal(self.ids, graph.node_id)
        return super().columns(graph) + (0.1 if other else 0.0)


@breaks("relabelling")
class DrawsByRow(Small):
    def order(self, graph: SensitiveGraph) -> Tensor:
        return torch.arange(len(graph.x))


@breaks("refusals", "other labels", "other attributes")
class TakesAnyGraph(Small):
    def check(self, graph: SensitiveGraph) -> None:
        return None


@breaks("other attributes")
class TakesAnyGroups(Small):
    """Without having said so."""

    def check(self, graph: SensitiveGraph) -> None:
        super().check(graph if graph.continuous else in_two_groups(graph))


@breaks("other attributes")
class TakesAnyNumber(Small):
    def check(self, graph: SensitiveGraph) -> None:
        super().check(in_two_groups(graph) if graph.continuous else graph)


class OfManyGroups(Small):
    """Keeps every promise with several groups too, which it sees as they are."""

    several_groups = True

    def check(self, graph: SensitiveGraph) -> None:
        super().check(in_two_groups(graph) if graph.num_groups > 2 else graph)


@breaks("other attributes")
class RanksByGroup(OfManyGroups):
    """Learns nothing where there are several groups."""

    def columns(self, graph: SensitiveGraph) -> Tensor:
        x = super().columns(graph)
        return x if graph.num_groups == 2 else 0 * x + graph.sens[:, None]


@breaks("other attributes")
class AsksForGroupsByRow(OfManyGroups):
    def columns(self, graph: SensitiveGraph) -> Tensor:
        x = super().columns(graph)
        return x if graph.num_groups == 2 else x + 0.01 * torch.arange(len(x))[:, None] / len(x)


@breaks("other links")
class StumblesOverArcs(Small):
    def check(self, graph: SensitiveGraph) -> None:
        if graph.directed:
            raise ValueError("arcs")
        super().check(graph)


class OfAnyLinks(Small):
    """Keeps every promise with directions and weights too, of which it knows nothing."""

    def check(self, graph: SensitiveGraph) -> None:
        if graph.plain:
            super().check(graph)
        else:
            check_trainable(graph)


@breaks("other links")
class ReadsWeightsByRow(OfAnyLinks):
    def columns(self, graph: SensitiveGraph) -> Tensor:
        x = super().columns(graph)
        if graph.edge_weight is None:
            return x
        return x + 0.01 * torch.arange(len(x))[:, None] / len(x)


@breaks("other links")
class BlamesItsSettings(Small):
    def check(self, graph: SensitiveGraph) -> None:
        if graph.directed:
            raise ParameterError("hops", "arcs", "edges", "leave them out")
        super().check(graph)


@breaks("refusals")
class TakesAnyColumns(Small):
    def columns(self, graph: SensitiveGraph) -> Tensor:
        width = len(self.scaler.mean)
        return ((graph.x[:, :width] - self.scaler.mean) / self.scaler.scale).double()


@breaks("before fit")
class AnswersUnfitted(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        if self.threshold_ is None:
            return np.full((len(graph.x), 2), 0.5)
        return super().predict_proba(graph, nodes=nodes)


@breaks("before fit")
class LeavesAFolder(Small):
    def save(self, path: Path | str) -> None:
        Path(path).mkdir(exist_ok=True)
        super().save(path)


@breaks("test labels")
class LearnsFromEveryLabel(Small):
    def learned_from(self, graph: SensitiveGraph) -> Tensor:
        return graph.y >= 0


@breaks("side effects")
class LeavesAMark(Small):
    def seen(self, graph: SensitiveGraph) -> Tensor:
        graph.visited = True
        return super().seen(graph)


@breaks("side effects")
class ErasesLabels(Small):
    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        super().fit(graph, checkpoint=checkpoint)
        graph.y[graph.test_mask] = -1
        return self


@breaks("side effects")
class DrawsInVain(Small):
    def check(self, graph: SensitiveGraph) -> None:
        super().check(graph)
        torch.rand(1)


class OwnGenerator(SmallTask):
    """Draws from a generator that a resumed run finds at its beginning."""

    def draw(self) -> Tensor:
        if not hasattr(self, "own"):
            self.own = torch.Generator().manual_seed(int(torch.randint(10**9, (1,))))
        return torch.randint(len(self.x), (20,), generator=self.own)


@breaks("checkpoints")
class GoesOnElsewhere(Small):
    task_type = OwnGenerator


@breaks("checkpoints")
class BeginsAnew(Small):
    def key(self, graph: SensitiveGraph) -> str:
        return str(uuid.uuid4())


@breaks("checkpoints")
class TakesAnothersCheckpoint(Small):
    def key(self, graph: SensitiveGraph) -> str:
        return f"{self.config} {self.seed} {graph.name}"


@breaks("checkpoints")
class ForgetsWhoseSeed(Small):
    def key(self, graph: SensitiveGraph) -> str:
        return f"{self.config} {graph.fingerprint()}"


@breaks("parameters")
class SetsAndKeepsQuiet(Small):
    def set_params(self, **params: Any) -> Any:
        super().set_params(**params)


@breaks("parameters")
class SetsNothing(Small):
    def set_params(self, **params: Any) -> Self:
        super(SetsNothing, copy.copy(self)).set_params(**params)
        return self


@breaks("parameters")
class ClonesTheFit(Small):
    def __sklearn_clone__(self) -> Self:
        return copy.copy(self)


@breaks("parameters")
class FollowsTheSettings(Small):
    def hops(self) -> int:
        return self.config.hops


@breaks("parameters")
class SavesTheSettings(Small):
    def save(self, path: Path | str) -> None:
        other = copy.copy(self)
        other._settings = self.config
        Small.save(other, path)


@breaks("parameters")
class TakesAnySetting(Small):
    def set_params(self, **params: Any) -> Self:
        known = {name: value for name, value in params.items() if name in self.get_params()}
        return super().set_params(**known)


@breaks("rows")
class SortsTheRows(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        if nodes is not None and nodes.dtype == torch.int64:
            nodes = nodes.sort().values
        return super().predict_proba(graph, nodes=nodes)


@breaks("rows")
class CountsFromTheEnd(Small):
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        scores = super().predict_proba(graph)
        return scores if nodes is None else scores[nodes.numpy()]
