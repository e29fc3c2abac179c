"""Gear: node representations that are alike on a person's factual and counterfactual egos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from fairgear.causal import CausalModel, for_graph
from fairgear.causal.noise import node_uniform
from fairgear.egos import EgoIndex, remembered
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.methods.augmentation import VaeTask
from fairgear.methods.base import METHODS, check_trainable
from fairgear.methods.causal_generator import CausalGenerator
from fairgear.methods.fit_files import FitCheckpoints, columns_of, run_key
from fairgear.methods.gear_config import GearConfig, Regime, RegimeTrial
from fairgear.methods.gear_training import GearNetwork, GearTask
from fairgear.methods.generator_report import GeneratorReport, report_generator
from fairgear.methods.generators import Ego, FlipOnly, Generator, VaeGenerator
from fairgear.methods.inputs import FeatureScaler
from fairgear.methods.network_method import NetworkMethod
from fairgear.methods.thresholds import most_accurate
from fairgear.nn import GraphVAE
from fairgear.tensor_files import damaged
from fairgear.training import Checkpoint, History, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors

# Egos a forward pass when scoring: bounds memory whatever the size of the graph.
_CHUNK = 1024
# Fewer people than this are looked up anew each time.
_FEW = 32


class Gear(NetworkMethod):
    """The method of the paper, in the default preset or `Gear.paper()`.

    After `fit`: `history_` (loss terms and validation over time of `generator` and `network`),
    `generator_report_` (how good the counterfactual egos are), `scaler_` (of the features),
    `regime_` (how it was trained, where the settings leave that open), `trials_` (the ways that
    were tried, with their scores on the validation people), `causal_model_` (the fingerprint of
    the causal model that took the generator's place, if any), `erases_means_` (whether the
    difference of the groups' means is what was erased) and `threshold_`.
    """

    name = "gear"
    config_type = GearConfig
    config: GearConfig
    _generator: Generator | None = None

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}
        self.generator_report_: GeneratorReport | None = None
        self.regime_: Regime | None = None
        self.trials_: list[RegimeTrial] = []
        self.causal_model_: str | None = None
        self.erases_means_ = False

    @classmethod
    def paper(cls, *, seed: int = 0, device: str = "auto", **changes: Any) -> Self:
        """The preset that follows the paper to the letter."""
        config = GearConfig.paper(**changes)
        settings = {name: getattr(config, name) for name in config.to_dict()}
        return cls(seed=seed, device=device, **settings)

    def fit(
        self,
        graph: SensitiveGraph,
        *,
        checkpoint: Path | None = None,
        causal_model: CausalModel | None = None,
    ) -> Self:
        """Train the generator on all nodes, then encoder and classifier.

        Args:
            graph: see `Method.fit`.
            checkpoint: see `Method.fit`.
            causal_model: with `augmentation="causal"`, the fitted model that takes the place of
                the graph VAE; that of the graph if not given.
        """
        check_trainable(graph)
        config, device = self.config.effective(), self.torch_device()
        config.check_together()
        _check_augmentation(config, causal_model)
        regimes = config.regimes(int(graph.train_mask.sum()))
        self.threshold_, self.history_, self.generator_report_ = None, {}, None
        self.causal_model_ = None
        self._settings, self.trials_ = self.config, []
        self._build(graph.x.shape[1], graph.sens_column, config, regimes[0])
        index = self.ego_index(graph).to(device)
        # People are drawn in the order of their ids: reordering the rows changes nothing.
        order = graph.node_id.argsort().to(device)
        self.scaler_.fit(graph, order)
        x, sens, y = self.scaler_(graph), graph.sens.to(device), graph.y.to(device)[order]

        def egos(people: Tensor) -> Ego:
            batch = index.batch(order[people], x)
            return Ego.of(batch, sens)

        if config.uses_causal_model:
            causal_model = for_graph(graph) if causal_model is None else causal_model
            self.causal_model_ = causal_model.fingerprint()
            self._generator = CausalGenerator(
                causal_model, graph, index, self.scaler_, seed=self.seed
            )
        given = None if causal_model is None else causal_model.fingerprint()
        files = FitCheckpoints(checkpoint, run_key(self, graph, given))
        shift = self._fit_vae(egos, sens[order], files.checkpoint("generator"))
        people = torch.arange(len(x), device=device)
        rows = [people[mask.to(device)[order]] for mask in (graph.train_mask, graph.val_mask)]
        for number, regime in enumerate(regimes):
            network = self._new_network(regime)
            network.fit_inputs(
                x[order], sens[order], self.scaler_, shift if regime.from_generator else None
            )
            task = GearTask(network, config, regime, self.generator(), egos, y, *rows)
            history = train(
                task,
                steps=regime.steps,
                seed=self.seed,
                description="training the encoder",
                validate_every=config.validate_every,
                checkpoint=files.checkpoint(f"network{number}"),
            )
            if not self.trials_ or _score(history) > max(trial.score for trial in self.trials_):
                self._network, self.regime_ = task.average, regime
                self.history_["network"] = history
                self.erases_means_ = network.erasure is not None and (
                    shift is None or not regime.from_generator
                )
            self.trials_.append(RegimeTrial(regime, _score(history)))
        self.threshold_ = 0.5
        assert self.regime_ is not None
        if self.regime_.threshold == "validation":
            scores = self.predict_proba(graph, nodes=graph.val_mask)[:, 1]
            self.threshold_ = most_accurate(graph.y[graph.val_mask].cpu().numpy(), scores)
        files.remove()
        return self

    def _fit_vae(
        self, egos: Callable[[Tensor], Ego], sens: Tensor, checkpoint: Checkpoint | None
    ) -> Tensor | None:
        """Train the VAE, report on it, and give the shift of the features that it has learned."""
        if self._vae is None:
            return None
        config = self._fitted_config.generator
        with seeded(self.seed, "discriminator"):
            task = VaeTask(self._vae, config, egos, len(sens))
        self.history_["generator"] = train(
            task,
            steps=config.steps,
            seed=self.seed,
            description="training the generator",
            checkpoint=checkpoint,
        )
        self.generator_report_, shift = report_generator(
            VaeGenerator(self._vae), egos, sens, seed=self.seed
        )
        return shift

    @torch.no_grad()
    def _forward(self, graph: SensitiveGraph, nodes: Tensor | None) -> tuple[Tensor, Tensor]:
        """Both averaged over the assignments, where there are any."""
        self._fitted_threshold()
        device = self.torch_device()
        for module in (self.scaler_, self._network, self._vae):
            # `device` may have been changed since the fit.
            if module is not None:
                module.to(device)
        nodes = rows_of(graph, nodes)
        every = len(nodes) > len(graph.x) // 4
        index = self.ego_index(graph, None if every else nodes).to(device)
        rows = nodes if every else torch.arange(len(nodes))
        x, sens = self.scaler_(graph), graph.sens.to(device)
        fixed = self._assignments(graph).to(device)
        parts = []
        for chunk in torch.split(rows, _CHUNK):
            batch = index.batch(chunk.to(device), x)
            ego = Ego.of(batch, sens)
            views = [ego]
            if len(fixed):
                views = [self._assigned(ego, batch.gather(values)) for values in fixed]
            outputs = [self._network(view) for view in views]
            parts.append(
                [torch.stack(part).mean(dim=0).cpu() for part in zip(*outputs, strict=True)]
            )
        z, logits = (torch.cat(part) for part in zip(*parts, strict=True))
        return z, logits

    def _assignments(self, graph: SensitiveGraph) -> Tensor:
        """Fixed values of s by node id, the same in every world."""
        count = self._fitted_config.assignments
        draws = [
            (node_uniform(graph.node_id, 0, f"assignment{draw}") < 0.5).long()
            for draw in range(count)
        ]
        return torch.stack(draws) if draws else torch.empty(0, len(graph.x), dtype=torch.int64)

    def _assigned(self, ego: Ego, sens: Tensor) -> Ego:
        """The ego as the generator thinks it would be under `sens`; edges stay as they are."""
        generator = self.generator()
        assert generator is not None
        full = torch.ones(len(ego), device=ego.x.device)
        return generator.counterfactual(ego, sens, full, move_edges=False)

    def generator(self) -> Generator | None:
        """What makes the counterfactual egos of the fitted model.

        None for the variant np, and for a model with `augmentation="causal"` that was loaded: a
        causal model's worlds are those of the graph it was trained on, and are not saved.
        """
        return self._generator

    def ego_index(self, graph: SensitiveGraph, nodes: Tensor | None = None) -> EgoIndex:
        """The ego index; shared with all models, since they ask about the same worlds."""
        k, alpha = self._fitted_config.k, self._fitted_config.alpha
        if nodes is not None and len(nodes) < _FEW:
            # A world of one person: nobody asks about it again.
            return EgoIndex.build(graph, k, alpha, nodes=nodes)
        return remembered(graph, k, alpha, nodes)

    def _build(
        self, width: int, sens_column: int | None, config: GearConfig, regime: Regime
    ) -> None:
        """Fresh modules, initialised from the seed, for `config` until the next fit."""
        self._fitted_config = config
        features, device = width - (sens_column is not None), self.torch_device()
        self._sens_column = sens_column
        self.scaler_ = FeatureScaler(features, sens_column).to(device)
        self._network = self._new_network(regime)
        self._vae: GraphVAE | None = None
        if config.uses_vae:
            settings = config.generator
            with seeded(self.seed, "initialisation of the generator"):
                self._vae = GraphVAE(features, settings.hidden, settings.latent).to(device)
        self._generator = None
        if self._vae is not None:
            self._generator = VaeGenerator(self._vae)
        elif config.variant == "nc":
            self._generator = FlipOnly()

    def _new_network(self, regime: Regime) -> GearNetwork:
        """A fresh network; every regime's begins as it would if there were no other."""
        with seeded(self.seed, "initialisation"):
            network = GearNetwork(len(self.scaler_.mean), self._fitted_config, regime)
        return network.to(self.torch_device())

    def _fitted_settings(self) -> GearConfig:
        return self._settings

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("scaler", self.scaler_) | module_tensors("network", self._network)
        if self._vae is not None:
            tensors |= module_tensors("vae", self._vae)
        report = self.generator_report_
        facts = {
            "features": len(self.scaler_.mean) + (self._sens_column is not None),
            "sens_column": self._sens_column,
            "regime": None if self.regime_ is None else asdict(self.regime_),
            "trials": [asdict(trial) for trial in self.trials_],
            "causal_model": self.causal_model_,
            "erases_means": self.erases_means_,
            "history": {name: history.as_dict() for name, history in self.history_.items()},
            "generator_report": None if report is None else asdict(report),
        }
        return tensors, facts

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        width, column = columns_of(path, facts)
        self._settings = self.config
        try:
            self.regime_ = Regime.from_dict(facts["regime"])
            self.trials_ = [
                RegimeTrial(Regime.from_dict(trial["regime"]), float(trial["score"]))
                for trial in facts["trials"]
            ]
        except (KeyError, TypeError, ValueError, AttributeError, ParameterError) as error:
            raise damaged(path) from error
        self._build(width, column, self.config.effective(), self.regime_)
        load_module(path, "scaler", self.scaler_, tensors)
        load_module(path, "network", self._network, tensors)
        if self._vae is not None:
            load_module(path, "vae", self._vae, tensors)
            self._vae.eval()
        self._network.eval()
        try:
            self.history_ = {name: History(**rows) for name, rows in facts["history"].items()}
            self.causal_model_ = facts["causal_model"]
            self.erases_means_ = bool(facts["erases_means"])
            report = facts["generator_report"]
            self.generator_report_ = None if report is None else GeneratorReport(**report)
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(path) from error


def _score(history: History) -> float:
    assert history.best_score is not None
    return history.best_score


def _check_augmentation(config: GearConfig, causal_model: CausalModel | None) -> None:
    if causal_model is not None and not config.uses_causal_model:
        raise ParameterError(
            "causal_model",
            got=f"one, with augmentation {config.augmentation!r} and variant {config.variant!r}",
            allowed="one with augmentation 'causal' and a variant that has a generator",
            next_step="use Gear(augmentation='causal')",
        )


METHODS.add("gear", Gear)
