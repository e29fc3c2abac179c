"""Gear: node representations that are alike under a family of causal models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from fairgear import distributed
from fairgear.causal.local import Snapshot
from fairgear.egos import EgoIndex, NearbyEgos, PageRank
from fairgear.graph import SensitiveGraph
from fairgear.methods.base import METHODS, FitCheckpoints, check_trainable, columns_of, run_key
from fairgear.methods.ego_method import EGOS_FOLDER, EgoMethod
from fairgear.methods.egos import EgoSource, LocalEgos
from fairgear.methods.features import FeatureScaler, statistics_sample
from fairgear.methods.gear.config import VALIDATE_EVERY, GearConfig
from fairgear.methods.gear.family import Family, learners, models_of
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.gear.training import GearData, GearTask
from fairgear.methods.ranks import RankScores
from fairgear.settings import settings_of
from fairgear.tensor_files import damaged
from fairgear.training import seeded, train


class Gear(EgoMethod):
    """An encoder of ego subgraphs whose answers are alike under a family of causal models.

    Each member of an ego is seen as it is and as the models of the family move it to the other
    group. Training asks for alike answers where somebody in the ego is moved.

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
        k: members of an ego, its centre included.
        dim: dimension of the representations.
        dropout: in training.
        fairness_weight: weight λ of the inconsistency; 0 for none.
        views: whether members are seen as the family moves them, too. Off, prediction takes a
            quarter of the time and more answers change.
        edge_noise: moved egos lose up to this share of their edges and gain as many elsewhere.
        r2_limit: R² between predicted labels and the mean sensitive value around a person that is
            allowed on the validation set: "labels" for that of the training labels, a number for
            less, 1 for any.
        learning_rate: the highest, of Adam.
        weight_decay: μ, weight of the squared norm of the parameters.
        steps: training steps, one batch each.
        batch_size: egos a batch, of labelled people and again of all.
        micro_batches: parts of a batch that are computed separately, so that processes can share
            a step.
        threshold: the most accurate on the validation set ("validation"), or 0.5 ("half").
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".
    """

    name = "gear"
    config_type = GearConfig
    config: GearConfig
    _settings: GearConfig
    _fitted_config: GearConfig
    _network: GearNetwork
    _family: Family
    _factual: tuple[Snapshot, Tensor] | None = None

    def __init__(
        self,
        *,
        causal: str | Sequence[str] = "family",
        encoder: str = "graphsage",
        k: int = 20,
        dim: int = 64,
        dropout: float = 0.2,
        fairness_weight: float = 2.0,
        views: bool = True,
        edge_noise: float = 0.5,
        r2_limit: float | str = "labels",
        learning_rate: float = 0.003,
        weight_decay: float = 1e-5,
        steps: int = 1000,
        batch_size: int = 100,
        micro_batches: int = 1,
        threshold: str = "validation",
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        causal = causal if isinstance(causal, str) else "+".join(causal)
        given = locals()
        settings = {name: given[name] for name in settings_of(GearConfig)}
        super().__init__(seed=seed, device=device, **settings)

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Fit the family, then train encoder and classifier."""
        check_trainable(graph)
        config = self._settings = self.config
        config.check_batches(int(graph.train_mask.sum()), distributed.size())
        self.threshold_, self.history_, self._factual = None, {}, None
        models, sample = (
            models_of(config.causal),
            statistics_sample(graph.canonical.rows, graph.sens),
        )
        width, column, device = graph.x.shape[1], graph.sens_column, self.torch_device()
        self.scaler_ = FeatureScaler(width, column).to(device).fit(graph, sample)
        scaled = self.scaler_.scaled(graph.x[sample.to(graph.x.device)])
        ranks = RankScores(len(self.scaler_.mean)).to(device).fit(scaled)
        self._family = Family.fit(
            models, graph, learners(graph), self.scaler_, ranks, self.seed, config.views
        )
        self._build(width, column)
        index = self.ego_index(graph, folder=checkpoint and checkpoint / EGOS_FOLDER)
        egos = self._ego_source(graph, index, graph.canonical.rows)
        data = GearData.of(graph, index, self._family, egos, self.seed)
        # Not the file's name alone: a diagram may have been changed since.
        believed = [model.identity for model in models]
        files = FitCheckpoints(checkpoint, run_key(self, graph, *believed))
        self.history_["network"] = train(
            GearTask(self._network, config, data),
            steps=config.steps,
            seed=self.seed,
            description="training the encoder",
            validate_every=VALIDATE_EVERY,
            checkpoint=files.checkpoint("network"),
        )
        self._set_threshold(graph, config.threshold)
        files.remove()
        return self

    @property
    def trained_for_(self) -> tuple[str, ...]:  # type: ignore[override]  # decided by the fit
        """See the class."""
        if self.threshold_ is None or self._settings.fairness_weight == 0:
            return ()
        return tuple(model.identity for model in self._family.models)

    def _ego_source(
        self, graph: SensitiveGraph, index: EgoIndex, order: Tensor | None = None
    ) -> EgoSource:
        views = self._family.views_in(graph)
        return EgoSource(graph, index, self.scaler_, self.torch_device(), order, views)

    def _local_egos(self, graph: SensitiveGraph, egos: NearbyEgos, how: PageRank) -> LocalEgos:
        kept, device = self._factual, self.torch_device()
        if kept is None or kept[1].device.type != device.type or not kept[0].holds(graph):
            self._factual = kept = (Snapshot(graph), self._family.views_in(graph))
        return LocalEgos(graph, kept[1], self._family.views_of, egos, how)

    def _build(self, width: int, sens_column: int | None) -> None:
        config = self._settings
        # Where no graph is read, an ego is its centre.
        self._fitted_config = config if config.reads_graph else replace(config, k=1)
        with seeded(self.seed, "initialisation"):
            network = GearNetwork(self._family.width, self._family.views, config)
        self._network = network.to(self.torch_device())

    def _networks(self) -> dict[str, nn.Module]:
        return {"network": self._network, "ranks": self._family.ranks}

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        own, about = self._family.state()
        return tensors | own, facts | {"family": about}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        device, views = self.torch_device(), self._settings.views
        self.scaler_ = FeatureScaler(*columns_of(path, facts)).to(device)
        ranks = RankScores(len(self.scaler_.mean)).to(device)
        try:
            self._family = Family.from_state(
                path, tensors, facts["family"], self.scaler_, ranks, views
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path) from error
        super()._restore(path, tensors, facts)


METHODS.add("gear", Gear)
