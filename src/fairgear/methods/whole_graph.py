"""Methods whose network reads the whole graph, or what its layers need of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph, rows_of
from fairgear.graph.edges import sort_edges
from fairgear.methods.base import check_trainable
from fairgear.methods.fit_files import FitCheckpoints, columns_of, run_key
from fairgear.methods.inputs import FeatureScaler
from fairgear.methods.neighbors import Neighbors
from fairgear.methods.network_method import NetworkMethod
from fairgear.methods.node_batches import Links, NodeBatch
from fairgear.methods.thresholds import most_accurate
from fairgear.methods.whole_graph_config import WholeGraphConfig
from fairgear.nn import objectives
from fairgear.tensor_files import damaged
from fairgear.training import History, Task, Validation, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors

# Up to this share of the people are looked at with their surroundings alone: one person's world
# should not cost as much as everybody's.
_FEW = 1 / 64


class WholeGraphNetwork(nn.Module):
    """An encoder, and a linear classifier of the representations.

    Args:
        encoder: from features (m, d) and `Neighbors` to representations (m, dim).
        dim: their width.
    """

    def __init__(self, encoder: nn.Module, dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(dim, 1)

    def forward(self, x: Tensor, neighbors: Neighbors) -> tuple[Tensor, Tensor]:
        """Representations (m, dim) and logits (m,)."""
        z: Tensor = self.encoder(x, neighbors)
        logits: Tensor = self.classifier(z)
        return z, logits[:, 0]


@dataclass(frozen=True)
class People:
    """A graph as networks see it, with the people in the order of their ids."""

    x: Tensor
    """(n, width), scaled."""
    sens: Tensor
    links: Links
    order: Tensor
    """The rows of the graph that the people have there."""

    def of(self, values: Tensor) -> Tensor:
        """Values by the rows of the graph, by people."""
        return values.to(self.order.device)[self.order]

    def numbers(self, rows: Tensor) -> Tensor:
        """Who is in these rows of the graph."""
        return self.order.argsort()[rows.to(self.order.device)]


class WholeGraphTask(Task):
    """L_p alone: the cross-entropy of the labelled training people.

    A method with more terms overrides `terms` and gives their `weights`; one that trains in turns
    overrides `step`.

    Args:
        modules: what is trained, `network` among it.
        config: the settings.
        people: the graph.
        y: labels by people.
        train_rows: the people to learn from.
        val_rows: the people to judge by.
    """

    weights: dict[str, float]
    """Of the terms; one without a weight counts once."""

    def __init__(
        self,
        modules: dict[str, nn.Module],
        config: WholeGraphConfig,
        people: People,
        y: Tensor,
        train_rows: Tensor,
        val_rows: Tensor,
    ) -> None:
        self.modules = modules
        self.network = modules["network"]
        self.config = config
        self.people = people
        self.y = y
        self.train_rows = train_rows
        self.val_rows = val_rows
        self.weights = {}
        self.optimizers = {"network": self.optimizer(self.network)}

    def optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """Adam with the rate and the weight decay of the settings."""
        return torch.optim.Adam(
            module.parameters(),
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
        )

    def draw(self) -> tuple[NodeBatch, Tensor, Tensor]:
        """What a step reads, the labelled people's places in it, and their labels."""
        size = self.config.batch_size
        if size == 0:
            return self.people.links.everyone, self.train_rows, self.y[self.train_rows]
        drawn = self.train_rows[torch.randperm(len(self.train_rows))[:size]]
        batch = self.people.links.around(drawn, self.config.layers, self.config.fanout)
        batch = batch.to(next(self.network.parameters()).device)
        assert batch.wanted is not None
        return batch, batch.wanted, self.y[drawn].to(batch.wanted.device)

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """The named terms of the loss on what `draw` gave and the network made of it."""
        return {
            "prediction": F.binary_cross_entropy_with_logits(logits[labelled], y.to(logits.dtype))
        }

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch, or the whole graph."""
        batch, labelled, y = self.draw()
        z, logits = self.network(batch.inputs(self.people.x), batch.neighbors)
        loss = objectives.weighted(self.terms(batch, z, logits, labelled, y), self.weights)
        self.descend("network", loss.total)
        return {name: part.detach() for name, part in loss.parts.items()}

    def descend(self, name: str, loss: Tensor) -> None:
        """One step of one optimiser; what the loss asks of another's parameters is left undone."""
        self.optimizers[name].zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no type
        self.optimizers[name].step()

    def validate(self) -> Validation | None:
        """The AUROC decides, unless a method says otherwise."""
        return self.judged()

    def judged(self) -> Validation:
        """AUROC and loss on the validation people."""
        _, logits = outputs(self.network, self.people, self.val_rows, self.config)
        y = self.y[self.val_rows].to(logits.device)
        usable = bool(logits.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), logits.cpu())) if usable else 0.0
        loss = F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))
        return Validation(auroc, {"prediction": float(loss), "auroc": auroc})


class WholeGraph(NetworkMethod):
    """Base of the methods whose network reads x and the edges of the whole graph.

    A method gives its `encoder`; one that trains more than a network and a cross-entropy
    overrides `build` (further modules, which are saved and moved along) and names its `task_type`.

    After `fit`: `history_` (loss terms and validation over time of `network`), `scaler_` (of the
    features) and `threshold_`.
    """

    config_type = WholeGraphConfig
    config: WholeGraphConfig
    task_type: ClassVar[type[WholeGraphTask]] = WholeGraphTask

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}

    @abstractmethod
    def encoder(self, width: int, config: WholeGraphConfig) -> nn.Module:
        """A fresh encoder of `width` features, see `WholeGraphNetwork`.

        Its output for a person may depend on nobody further away than `config.layers` steps.
        """

    def build(self, width: int, config: WholeGraphConfig) -> dict[str, nn.Module]:
        """Fresh modules for `width` features, by the name they are saved under: the `network`."""
        return {"network": WholeGraphNetwork(self.encoder(width, config), config.dim)}

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Train on the training people, and keep the state that validates best."""
        check_trainable(graph)
        self.threshold_, self.history_ = None, {}
        self._settings = config = self.config
        self._build(graph.x.shape[1], graph.sens_column)
        self.scaler_.fit(graph, graph.node_id.argsort().to(self.scaler_.mean.device))
        people = self._people(graph)
        numbers = torch.arange(len(people.x), device=people.x.device)
        with seeded(self.seed, "task"):
            task = self.task_type(
                self._modules,
                config,
                people,
                people.of(graph.y),
                numbers[people.of(graph.train_mask)],
                numbers[people.of(graph.val_mask)],
            )
        files = FitCheckpoints(checkpoint, run_key(self, graph))
        self.history_["network"] = train(
            task,
            steps=config.steps,
            seed=self.seed,
            description=f"training {self.name}",
            validate_every=config.validate_every,
            checkpoint=files.checkpoint("network"),
        )
        self.threshold_ = 0.5
        if config.threshold == "validation":
            scores = self.predict_proba(graph, nodes=graph.val_mask)[:, 1]
            self.threshold_ = most_accurate(graph.y[graph.val_mask].cpu().numpy(), scores)
        files.remove()
        return self

    @torch.no_grad()
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """All people at once: a layer reads the whole graph."""
        self._fitted_threshold()
        # `device` may have been changed since the fit.
        self.scaler_.to(self._home())
        for module in self._modules.values():
            module.to(self.torch_device())
        rows = rows_of(graph, nodes)
        people = self._people(graph)
        z, logits = outputs(self._modules["network"], people, people.numbers(rows), self._settings)
        yield z.cpu(), logits.cpu()

    def _people(self, graph: SensitiveGraph) -> People:
        """The graph in the order of the ids: reordering its rows changes nothing."""
        home = self._home()
        order = graph.node_id.argsort().to(home)
        x, sens = self.scaler_(graph)[order], graph.sens.to(home)[order]
        if self._settings.use_sens:
            x = torch.cat([x, sens[:, None].to(x.dtype)], dim=1)
        edges = sort_edges(order.argsort()[graph.edge_index.to(home)], len(order))
        return People(x, sens, Links.of(edges, len(order)), order)

    def _home(self) -> torch.device:
        """Where the graph is kept: with batches, one that need not fit on the device."""
        return torch.device("cpu") if self._settings.batch_size else self.torch_device()

    def _build(self, width: int, sens_column: int | None) -> None:
        """Fresh modules, initialised from the seed."""
        features = width - (sens_column is not None)
        self._sens_column = sens_column
        self.scaler_ = FeatureScaler(features, sens_column).to(self._home())
        with seeded(self.seed, "initialisation"):
            modules = self.build(features + self._settings.use_sens, self._settings)
        device = self.torch_device()
        self._modules = {name: module.to(device) for name, module in modules.items()}

    def _fitted_settings(self) -> WholeGraphConfig:
        return self._settings

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("scaler", self.scaler_)
        for name, module in self._modules.items():
            tensors |= module_tensors(name, module)
        facts = {
            "features": len(self.scaler_.mean) + (self._sens_column is not None),
            "sens_column": self._sens_column,
            "history": {name: history.as_dict() for name, history in self.history_.items()},
        }
        return tensors, facts

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._settings = self.config
        self._build(*columns_of(path, facts))
        load_module(path, "scaler", self.scaler_, tensors)
        for name, module in self._modules.items():
            load_module(path, name, module, tensors)
            module.eval()
        try:
            self.history_ = {name: History(**rows) for name, rows in facts["history"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(path) from error


def outputs(
    network: nn.Module, people: People, wanted: Tensor, config: WholeGraphConfig
) -> tuple[Tensor, Tensor]:
    """Representations and logits of the people `wanted`, from all of their neighbours."""
    size = config.batch_size
    if size == 0:
        few = 0 < len(wanted) <= _FEW * len(people.x)
        batch = people.links.around(wanted, config.layers) if few else people.links.everyone
        z, logits = network(batch.inputs(people.x), batch.neighbors)
        return (batch.outputs(z), batch.outputs(logits)) if few else (z[wanted], logits[wanted])
    device = next(network.parameters()).device
    parts = []
    # Each person once and in order: who shares a batch does not hang on how the question is put.
    once, places = torch.unique(wanted, return_inverse=True)
    for chunk in torch.split(once, size):
        batch = people.links.around(chunk, config.layers).to(device)
        z, logits = network(batch.inputs(people.x), batch.neighbors)
        parts.append((batch.outputs(z), batch.outputs(logits)))
    zs, ls = zip(*parts, strict=True)
    places = places.to(device)
    return torch.cat(zs)[places], torch.cat(ls)[places]
