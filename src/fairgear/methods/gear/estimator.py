"""Gear: node representations that are alike under a family of causal models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, nn

from fairgear.causal import Surroundings
from fairgear.causal.local import Snapshot
from fairgear.graph import SensitiveGraph, groups_around
from fairgear.methods.base import METHODS
from fairgear.methods.baselines.neighbors import Links
from fairgear.methods.baselines.whole_graph import Inputs, WholeGraph
from fairgear.methods.features import FeatureScaler, statistics_sample
from fairgear.methods.gear.config import BATCH, WHOLE_UP_TO, GearConfig
from fairgear.methods.gear.family import Family, MovedPeople, learners, models_of
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.gear.training import GearTask
from fairgear.methods.ranks import RankScores
from fairgear.methods.saved import columns_of
from fairgear.nn.sens_code import SensCode
from fairgear.settings import settings_of
from fairgear.tensor_files import damaged
from fairgear.training import seeded


class Gear(WholeGraph):
    """A graph network whose answers are alike under a family of causal models.

    Each person is seen as they are and as the models of the family move them to the other groups,
    or at five levels of an attribute that is a number.
    Training asks for alike answers where people are moved and edges are left out.

    After `fit`:

    - `threshold_`: the decision threshold.
    - `history_`: loss terms and validation over time, of `network`.
    - `scaler_`: of the features.
    - `trained_for_`: the causal models that it was trained for.

    Args:
        causal: what you believe: "family" for nothing in particular (shift, quantile and
            gaussian), names of feature models joined by "+" or in a list, or the file of a causal
            diagram. Maps are learned from training people, without labels.
        encoder: graphsage, gcn or gin; mlp and linear read no graph, with the same inputs and the
            same loss.
        layers: of the encoder: how many hops it sees.
        dim: dimension of the representations.
        dropout: in training.
        fairness_weight: weight λ of the inconsistency; 0 for none.
        views: whether people are seen as the family moves them, too. Off, more answers change.
        edge_noise: where people are moved, up to this share of the edges is left out.
        r2_limit: R² between predicted labels and the mean sensitive value around a person that is
            allowed on the validation set: "labels" for that of their labels, a number for
            less, 1 for any.
        learning_rate: the highest, of Adam.
        weight_decay: μ, weight of the squared norm of the parameters.
        steps: training steps.
        batch_size: labelled people a step, and as many of all; 0 for the whole graph at once.
            None for the whole graph up to 200,000 people, else 1,000.
        fanout: with batches, in training: neighbours of a person to sample; 0 for all of them.
        threshold: the most accurate on the validation set ("validation"), or 0.5 ("half"); of
            several classes, the largest score, or with the most accurate offsets.
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> gear = fg.Gear(steps=20, dim=8).fit(graph)
        >>> gear.predict(graph)[:4].tolist()
        [0, 1, 1, 1]
        >>> gear.embed(graph).shape
        (160, 8)
        >>> folder = gear.save("model")
        >>> bool((fg.load_model("model").predict_proba(graph) == gear.predict_proba(graph)).all())
        True
    """

    name = "gear"
    several_groups = number_of_s = True
    config_type = GearConfig  # type: ignore[assignment]  # has what the base class reads
    config: GearConfig  # type: ignore[assignment]  # as above
    task_type: ClassVar[type[GearTask]] = GearTask
    _settings: GearConfig  # type: ignore[assignment]  # as above
    _family: Family
    _factual: tuple[Snapshot, Tensor] | None = None
    # Whether the graph of the fit was too large to be read as a whole.
    _large: bool

    def __init__(
        self,
        *,
        causal: str | Sequence[str] = "family",
        encoder: str = "graphsage",
        layers: int = 2,
        dim: int = 64,
        dropout: float = 0.2,
        fairness_weight: float = 5.0,
        views: bool = True,
        edge_noise: float = 0.5,
        r2_limit: float | str = "labels",
        learning_rate: float = 0.01,
        weight_decay: float = 1e-5,
        steps: int = 300,
        batch_size: int | None = None,
        fanout: int = 10,
        threshold: str = "validation",
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        causal = causal if isinstance(causal, str) else "+".join(causal)
        given = locals()
        settings = {name: given[name] for name in settings_of(GearConfig)}
        super().__init__(seed=seed, device=device, **settings)

    @property
    def trained_for_(self) -> tuple[str, ...]:  # type: ignore[override]  # decided by the fit
        """See the class."""
        if self.threshold_ is None or self._settings.fairness_weight == 0:
            return ()
        return tuple(model.identity for model in self._family.models)

    def encoder(self, width: int) -> nn.Module:
        """The whole network: it has its own classifier."""
        return GearNetwork(self._family.width, self._settings, self.target_.outputs)

    def build(self, width: int) -> dict[str, nn.Module]:
        """The network."""
        return {"network": self.encoder(width)}

    @property
    def _sized(self) -> GearConfig:  # type: ignore[override]  # see `config`
        if self._settings.batch_size is not None:
            return self._settings
        return replace(self._settings, batch_size=BATCH if self._large else 0)

    def _learn_inputs(self, graph: SensitiveGraph) -> None:
        self._large = len(graph.x) > WHOLE_UP_TO
        self._factual = None
        sample, home = statistics_sample(graph.canonical.rows, graph.sens), self._home()
        width, column = graph.x.shape[1], graph.sens_column
        self.scaler_ = FeatureScaler(width, column).to(home).fit(graph, sample)
        scaled = self.scaler_.scaled(graph.x[sample.to(graph.x.device)])
        ranks = RankScores(len(self.scaler_.mean)).to(home).fit(scaled)
        models, views = models_of(self._settings.causal), self._settings.views
        self._family = Family.fit(
            models, graph, learners(graph), self.scaler_, ranks, self.seed, views
        )
        self._build(width, column)

    def _task(
        self, graph: SensitiveGraph, inputs: Inputs, y: Tensor, train_rows: Tensor, val_rows: Tensor
    ) -> GearTask:
        around = groups_around(graph)[graph.canonical.rows]
        if graph.continuous:
            # R² stays the same, and numbers such as years keep their digits in 32 bits.
            around = SensCode(0).to(around.device).fit(around)(around)[:, 0]
        return self.task_type(
            self._modules["network"],
            self._sized,
            inputs,
            y,
            train_rows,
            val_rows,
            MovedPeople(self._family, graph, self.seed),
            around.float().to(y.device),
            self.head,
        )

    def _believed(self) -> Sequence[str]:
        # Not the file's name alone: a diagram may have been changed since.
        return [model.identity for model in self._family.models]

    def _inputs(self, graph: SensitiveGraph) -> Inputs:
        self.scaler_.check(graph)
        self._check_attribute(graph)
        home = self._home()
        order = graph.canonical.rows
        x = self._family.to(home).seen_in(graph, order)
        sens = graph.sens.to(home)[order.to(home)]
        return Inputs(x, sens, Links.of(graph.canonical, home))

    def _near(self, around: Surroundings) -> Tensor:
        graph, rows, home = around.like, around.rows, self._home()
        kept = self._factual
        if kept is None or kept[1].device.type != home.type or not kept[0].holds(graph):
            self._factual = kept = (Snapshot(graph), self._family.to(home).seen_in(graph))
        x = kept[1][rows.to(home)]
        before, ids = (of[rows.to(of.device)].cpu() for of in (graph.x, graph.node_id))
        moved = (around.x != before).any(dim=1)
        moved |= around.sens != graph.sens[rows.to(graph.sens.device)].cpu()
        x[moved.to(home)] = self._family.seen(around.x[moved], around.sens[moved], ids[moved])
        return x

    def _build(self, width: int, sens_column: int | None) -> None:
        with seeded(self.seed, "initialisation"):
            modules = self.build(self._family.width)
        device = self.torch_device()
        self._modules = {name: module.to(device) for name, module in modules.items()}

    def _networks(self) -> dict[str, nn.Module]:
        return self._modules | {"ranks": self._family.ranks}

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        own, about = self._family.state()
        return tensors | own, facts | {"family": about, "large": self._large}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        if not isinstance(facts.get("large"), bool):
            raise damaged(path)
        self._large = facts["large"]
        home, views = self._home(), self._settings.views
        self.scaler_ = FeatureScaler(*columns_of(path, facts)).to(home)
        ranks = RankScores(len(self.scaler_.mean)).to(home)
        try:
            self._family = Family.from_state(
                path, tensors, facts["family"], self.scaler_, ranks, views
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path) from error
        super()._restore(path, tensors, facts)


METHODS.add("gear", Gear)
