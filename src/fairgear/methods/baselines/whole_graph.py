"""Methods whose network reads the whole graph, or what its layers need of it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from fairgear.causal import LocalWorld, Surroundings
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.graph.targets import KINDS
from fairgear.methods.base import Scores
from fairgear.methods.baselines.neighbors import Links, Neighbors, NodeBatch
from fairgear.methods.features import FeatureScaler
from fairgear.methods.fit_checkpoints import FitCheckpoints, run_key
from fairgear.methods.heads import BINARY_HEAD, Head
from fairgear.methods.network_method import NetworkMethod
from fairgear.methods.ranks import RankScores
from fairgear.nn import objectives
from fairgear.nn.sens_code import SensCode
from fairgear.settings import Config, OneOf, Range
from fairgear.training import Task, Validation, seeded, train

# Up to this share of the people are computed from their surroundings alone: the world of one
# person should not cost as much as everybody's.
_FEW = 1 / 64


@dataclass(frozen=True)
class WholeGraphConfig(Config):
    """How a network on the whole graph is built and trained."""

    layers: Annotated[int, Range(1, 16)] = 2
    """Layers of the encoder: how many hops it sees."""
    dim: Annotated[int, Range(1, 65536)] = 16
    """Width of every layer, and of the representations."""
    dropout: Annotated[float, Range(0, 0.99)] = 0.5
    """Between layers."""
    use_sens: bool = True
    """Whether the network sees the sensitive attribute."""
    ranks: bool = False
    """Whether the network also sees the rank of each feature."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.01
    """Of Adam."""
    weight_decay: Annotated[float, Range(0, math.inf)] = 1e-5
    """Of Adam: this times the parameters is added to the gradient."""
    steps: Annotated[int, Range(1, 10**7)] = 500
    """Training steps; without batches each sees all labelled people, and is an epoch."""
    validate_every: Annotated[int, Range(1, 10**7)] = 5
    """Steps between two validations; the state with the best AUROC is kept, or least RMSE."""
    batch_size: Annotated[int, Range(0, 10**9)] = 0
    """Labelled people a step, and people at a time in prediction; 0 for the whole graph at once."""
    fanout: Annotated[int, Range(0, 10**6)] = 0
    """With batches, in training: neighbours of a person to sample; 0 for all of them."""
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    """The decision threshold: 0.5 (half), or the most accurate on the validation set; of several
    classes, the largest score, or with the most accurate offsets."""

    @property
    def hops(self) -> int:
        """How far the network reads."""
        return self.layers


class WholeGraphNetwork(nn.Module):
    """An encoder, and a linear classifier of the representations.

    The encoder takes features (m, d) and `Neighbors`, and returns representations (m, dim).
    """

    def __init__(self, encoder: nn.Module, dim: int, outputs: int = 1) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier: nn.Module = nn.Linear(dim, outputs)

    def headless(self) -> Self:
        """Itself without the classifier, for what reads representations alone."""
        self.classifier = nn.Identity()
        return self

    def forward(self, x: Tensor, neighbors: Neighbors) -> tuple[Tensor, Tensor]:
        """Representations (m, dim) and logits (m,), or (m, outputs) where there are several."""
        z: Tensor = self.encoder(x, neighbors)
        logits: Tensor = self.classifier(z)
        return z, logits[:, 0] if logits.shape[1] == 1 else logits


@dataclass(frozen=True)
class Inputs:
    """A graph as networks see it, in canonical order."""

    x: Tensor
    """(n, width), scaled."""
    sens: Tensor
    """(n,), the groups, or float and standardised where the attribute is a number."""
    links: Links


class WholeGraphTask(Task):
    """L_p alone: the cross-entropy, or squared error, of the labelled training people.

    A method with more terms overrides `terms` and sets their `weights`; one that trains in turns
    overrides `step`. `modules` is what is trained, including `network`; labels and rows are in
    canonical order. A task whose labels are not of people says of whom by `people`, and `answers`.
    """

    weights: dict[str, float]
    """Of the terms; the default is 1."""

    def __init__(
        self,
        modules: dict[str, nn.Module],
        config: WholeGraphConfig,
        graph: Inputs,
        y: Tensor,
        train_rows: Tensor,
        val_rows: Tensor,
        head: Head = BINARY_HEAD,
    ) -> None:
        self.head = head
        self.modules = modules
        self.network = modules["network"]
        self.config = config
        self.graph = graph
        self.y = y
        self.train_rows = train_rows
        self.val_rows = val_rows
        self.weights = {}
        self.optimizers = {"network": self.optimizer(self.network)}

    def optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """Adam with the learning rate and the weight decay of the settings."""
        return torch.optim.Adam(
            module.parameters(),
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
        )

    def people(self, rows: Tensor) -> Tensor:
        """Those whose representations the answers for some labels are made of."""
        return rows

    def answers(self, z: Tensor, logits: Tensor, places: Tensor, people: Tensor) -> Tensor:
        """The logits of labels, from the network's output.

        Args:
            z: representations of some people.
            logits: of the same.
            places: where the labels' `people` are among these.
            people: their rows of the graph.
        """
        return logits[places]

    def draw(self) -> tuple[NodeBatch, Tensor, Tensor]:
        """The batch of a step, the places of the labels' people in it, and the labels."""
        rows = self.drawn()
        batch, places = self.around(self.people(rows))
        return batch, places, self.y[rows].to(places.device)

    def drawn(self) -> Tensor:
        """The rows of the labels of a step."""
        size = self.config.batch_size
        if size == 0:
            return self.train_rows
        return self.train_rows[torch.randperm(len(self.train_rows))[:size]]

    def around(self, people: Tensor) -> tuple[NodeBatch, Tensor]:
        """The whole graph, or what the layers read around some people; and their places in it."""
        if self.config.batch_size == 0:
            return self.graph.links.everyone, people
        batch = self.graph.links.around(people, self.config.hops, self.config.fanout)
        batch = batch.to(next(self.network.parameters()).device)
        assert batch.targets is not None
        return batch, batch.targets

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """The named terms of the loss on a batch and the network's output for it."""
        answers = self.answers(z, logits, labelled, batch.people(labelled))
        return {"prediction": self.head.loss(answers, y)}

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch, or the whole graph."""
        batch, labelled, y = self.draw()
        z, logits = self.network(batch.inputs(self.graph.x), self.neighbors(batch))
        return self.descend(self.terms(batch, z, logits, labelled, y))

    def neighbors(self, batch: NodeBatch) -> Neighbors:
        """What the network reads in a step."""
        return batch.neighbors

    def descend(self, terms: dict[str, Tensor], *names: str) -> dict[str, Tensor]:
        """One step of the named optimisers, by default `network`; returns the terms, detached.

        Gradients of other parameters are ignored.
        """
        chosen = [self.optimizers[name] for name in names or ("network",)]
        for optimizer in chosen:
            optimizer.zero_grad(set_to_none=True)
        detached = objectives.backward(objectives.weighted(terms, self.weights))
        for optimizer in chosen:
            optimizer.step()
        return detached

    def validate(self) -> Validation | None:
        """Score by AUROC, or −RMSE."""
        return self.scored()

    def scored(self) -> Validation:
        """AUROC, or −RMSE, and loss on the validation set."""
        _, logits = self.validated(self.graph)
        y = self.y[self.val_rows].to(logits.device)
        score, loss = self.head.score(y, logits), self.head.loss(logits, y)
        return Validation(score, {"prediction": float(loss), self.head.measure: score})

    def validated(self, world: Inputs) -> tuple[Tensor, Tensor]:
        """Representations of the `people` of the validation set, and the logits of its labels."""
        people = self.people(self.val_rows)
        z, logits = outputs(self.network, world, people, self.config)
        return z, self.answers(z, logits, torch.arange(len(z), device=z.device), people)


class WholeGraph(NetworkMethod):
    """Base of the methods whose network reads x and the edges of the whole graph.

    A method defines its `encoder`; one that trains more than a network by cross-entropy overrides
    `build` (further modules, which are saved and moved too) and sets `task_type`.
    """

    targets = KINDS
    config_type = WholeGraphConfig
    config: WholeGraphConfig
    _settings: WholeGraphConfig
    task_type: ClassVar[type[WholeGraphTask]] = WholeGraphTask
    _modules: dict[str, nn.Module]
    _ranks: RankScores | None
    _code: SensCode

    @abstractmethod
    def encoder(self, width: int) -> nn.Module:
        """A fresh encoder of `width` features, see `WholeGraphNetwork`.

        Its output for a person may depend on people at most `layers` steps away.
        """

    def build(self, width: int) -> dict[str, nn.Module]:
        """Fresh modules for `width` features, by the name under which they are saved."""
        outputs = self.target_.outputs
        return {"network": WholeGraphNetwork(self.encoder(width), self._settings.dim, outputs)}

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Train on the training set, and keep the state with the best validation score."""
        self._aim(graph)
        self._begin(graph)
        order, home = graph.canonical.rows, self._home()
        masks = (graph.train_mask, graph.val_mask)
        train_rows, val_rows = (mask.cpu()[order].nonzero()[:, 0].to(home) for mask in masks)
        y = graph.y.cpu()[order].to(home)
        files = FitCheckpoints(checkpoint, run_key(self, graph, *self._believed()))
        self._train(graph, self._inputs(graph), y, train_rows, val_rows, files)
        self._set_threshold(graph, self._settings.threshold)
        files.remove()
        return self

    def _begin(self, graph: SensitiveGraph) -> None:
        """Forget an earlier fit, and learn what is seen of people."""
        self.threshold_, self.history_ = None, {}
        self._settings = self.config
        self._learn_inputs(graph)

    def _train(
        self,
        graph: SensitiveGraph,
        inputs: Inputs,
        y: Tensor,
        train_rows: Tensor,
        val_rows: Tensor,
        files: FitCheckpoints,
    ) -> None:
        with seeded(self.seed, "task"):
            task = self._task(graph, inputs, y, train_rows, val_rows)
        self.history_["network"] = train(
            task,
            steps=self._settings.steps,
            seed=self.seed,
            description=f"training {self.name}",
            validate_every=self._settings.validate_every,
            checkpoint=files.checkpoint("network"),
        )

    @torch.no_grad()
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """All people at once, since a layer reads the whole graph."""
        self._fitted_threshold()
        z, logits = self._outputs(graph, rows_of(graph, nodes))
        yield z.cpu(), logits.cpu()

    def _outputs(self, graph: SensitiveGraph, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Representations and logits of some rows."""
        # `device` may have been changed since the fit.
        self.scaler_.to(self._home())
        for module in self._modules.values():
            module.to(self.torch_device())
        targets = graph.canonical.numbers[rows.cpu()].to(self._home())
        return outputs(self._modules["network"], self._inputs(graph), targets, self._sized)

    @torch.no_grad()
    def predict_near(self, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor]) -> Scores:
        """The same from those whom the layers read around them."""
        self._fitted_threshold()
        device = self.torch_device()
        network = self._modules["network"].to(device)
        self.scaler_.check(worlds[0].factual)
        self._check_attribute(worlds[0].factual)
        parts = []
        for around in Surroundings.parts(worlds, nodes, self._settings.layers):
            x = self._near(around).to(device)
            inner = np.flatnonzero(around.inner)
            given = [around.edges, around.degree, inner]
            if around.weight is not None:
                given.append(around.weight.astype(np.float32))
            neighbors = Neighbors.around(*(torch.from_numpy(of).to(device) for of in given))
            _, logits = network(x, neighbors)
            parts.append(logits.cpu()[torch.from_numpy(np.searchsorted(inner, around.targets))])
        return self.head.answers(torch.cat(parts))

    @property
    def _sized(self) -> WholeGraphConfig:
        """The settings of the fit, with a batch size."""
        return self._settings

    def _learn_inputs(self, graph: SensitiveGraph) -> None:
        """Make the networks, and learn what they see of people, without labels."""
        self._build(graph.x.shape[1], graph.sens_column)
        order = graph.canonical.rows
        self.scaler_.fit(graph, order)
        self._code.fit(graph.sens[order.to(graph.sens.device)])
        if self._ranks is not None:
            self._ranks.fit(self.scaler_(graph)[order.to(self._home())])

    def _task(
        self, graph: SensitiveGraph, inputs: Inputs, y: Tensor, train_rows: Tensor, val_rows: Tensor
    ) -> WholeGraphTask:
        given = (self._settings, inputs, y, train_rows, val_rows, self.head)
        return self.task_type(self._modules, *given)

    def _believed(self) -> Sequence[str]:
        """What decides a fit besides settings, seed and graph."""
        return ()

    def _near(self, around: Surroundings) -> Tensor:
        """What the network sees of people around others."""
        x = self.scaler_.to(self._home()).scaled(around.x)
        return self._seen(x, around.sens)

    def _inputs(self, graph: SensitiveGraph) -> Inputs:
        self._check_attribute(graph)
        home = self._home()
        order = graph.canonical.rows.to(home)
        x, sens = self.scaler_(graph)[order], graph.sens.to(home)[order]
        seen = self._seen(x, sens)
        if self._code.is_number:
            sens = self._code(sens)[:, 0].to(seen)
        return Inputs(seen, sens, Links.of(graph.canonical, home))

    def _seen(self, x: Tensor, sens: Tensor) -> Tensor:
        """What the network sees: scaled features, their ranks and s, as the settings say."""
        parts = [x]
        if self._ranks is not None:
            parts.append(self._ranks.to(x.device)(x))
        if self._settings.use_sens:
            parts.append(self._code.to(sens.device)(sens).to(x))
        return torch.cat(parts, dim=1)

    def _home(self) -> torch.device:
        """Where the graph is kept: with batches it need not fit on the device."""
        return torch.device("cpu") if self._sized.batch_size else self.torch_device()

    def _build(self, width: int, sens_column: int | None) -> None:
        self.scaler_ = FeatureScaler(width, sens_column).to(self._home())
        own = len(self.scaler_.mean)
        self._ranks = RankScores(own).to(self._home()) if self._settings.ranks else None
        seen = (2 if self._settings.ranks else 1) * own
        self._code = SensCode(self.groups_).to(self._home())
        seen += self._code.width * self._settings.use_sens
        with seeded(self.seed, "initialisation"):
            modules = self.build(seen)
        device = self.torch_device()
        self._modules = {name: module.to(device) for name, module in modules.items()}

    def _networks(self) -> dict[str, nn.Module]:
        ranks = {} if self._ranks is None else {"ranks": self._ranks}
        return self._modules | ranks | {"code": self._code}


def outputs(
    network: nn.Module, graph: Inputs, targets: Tensor, config: WholeGraphConfig
) -> tuple[Tensor, Tensor]:
    """Representations and logits of the people `targets`, from all of their neighbours."""
    size = config.batch_size
    if size == 0:
        few = 0 < len(targets) <= _FEW * len(graph.x)
        batch = graph.links.around(targets, config.hops) if few else graph.links.everyone
        z, logits = network(batch.inputs(graph.x), batch.neighbors)
        return (batch.outputs(z), batch.outputs(logits)) if few else (z[targets], logits[targets])
    device = next(network.parameters()).device
    parts = []
    # Each person once and in order, so that batches do not depend on order and repetitions.
    once, places = torch.unique(targets, return_inverse=True)
    for chunk in torch.split(once, size):
        batch = graph.links.around(chunk, config.hops).to(device)
        z, logits = network(batch.inputs(graph.x), batch.neighbors)
        parts.append((batch.outputs(z), batch.outputs(logits)))
    zs, ls = zip(*parts, strict=True)
    places = places.to(device)
    return torch.cat(zs)[places], torch.cat(ls)[places]
