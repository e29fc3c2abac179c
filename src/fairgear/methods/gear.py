"""Gear: node representations that are alike on a person's factual and counterfactual egos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from fairgear.causal import CausalModel, for_graph
from fairgear.egos import EgoIndex, remembered
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.methods.augmentation import VaeTask
from fairgear.methods.base import METHODS, check_trainable
from fairgear.methods.causal_generator import CausalGenerator
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.fit_files import EGOS, FitCheckpoints, columns_of, run_key
from fairgear.methods.gear_config import GearConfig, Regime, RegimeTrial
from fairgear.methods.gear_data import GearData
from fairgear.methods.gear_network import GearNetwork
from fairgear.methods.gear_stacks import GearStack, VaeStack, check_stackable
from fairgear.methods.gear_training import GearTask
from fairgear.methods.generator_report import GeneratorReport, report_generator
from fairgear.methods.generators import FlipOnly, Generator, VaeGenerator
from fairgear.methods.inputs import FeatureScaler
from fairgear.methods.network_method import NetworkMethod
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.nn import GraphVAE
from fairgear.progress import bar, log
from fairgear.ranks import ranks
from fairgear.tensor_files import damaged
from fairgear.training import History, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors
from fairgear.training.micro_batches import check_divides
from fairgear.training.together import train_together

# Egos a forward pass when scoring: bounds memory whatever the size of the graph.
_CHUNK = 1024
# Fewer people than this are looked up anew each time.
_FEW = 32
# What the loops call themselves, which is part of their random numbers.
_GENERATOR, _ENCODER = "training the generator", "training the encoder"


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
    _advice = ""

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
        _check_augmentation(self.config.effective(), causal_model)
        data = self._begin(graph, folder=None if checkpoint is None else checkpoint / EGOS)
        if self._fitted_config.uses_causal_model:
            causal_model = for_graph(graph) if causal_model is None else causal_model
            self.causal_model_ = causal_model.fingerprint()
            index = self.ego_index(graph).to(self.torch_device())
            self._generator = CausalGenerator(
                causal_model, graph, index, self.scaler_, seed=self.seed
            )
        given = None if causal_model is None else causal_model.fingerprint()
        # What settings leave open may be another in another commit of the same version.
        ways = json.dumps([asdict(way) for way in self._regimes(graph)])
        files = FitCheckpoints(checkpoint, run_key(self, graph, given, ways))
        generator = self._generator_task(data)
        shift = None
        if generator is not None:
            history = train(
                generator,
                steps=self._fitted_config.generator.steps,
                seed=self.seed,
                description=_GENERATOR,
                checkpoint=files.checkpoint("generator"),
            )
            shift = self._keep_generator(data, history)
        for number, regime in enumerate(self._regimes(graph)):
            task = self._network_task(data, regime, shift)
            history = train(
                task,
                steps=regime.steps,
                seed=self.seed,
                description=_ENCODER,
                validate_every=self._fitted_config.validate_every,
                patience=self._fitted_config.patience,
                checkpoint=files.checkpoint(f"network{number}"),
            )
            self._keep_trial(task, history, shift)
        self._settle_threshold(graph)
        files.remove()
        return self

    @classmethod
    def fit_seeds(
        cls,
        graphs: SensitiveGraph | Sequence[SensitiveGraph],
        seeds: Sequence[int],
        *,
        device: str = "auto",
        **settings: Any,
    ) -> list[Self]:
        """Fitted models for several seeds, trained together as one batched model.

        They differ from models fitted one by one in their random numbers alone. On a card ten take
        little longer than one; a checkpoint is not written.

        Args:
            graphs: the graph, or one for each seed: the same people and edges, split otherwise.
            seeds: one a model.
            device: see `Method`.
            settings: those of all models.
        """
        each = [graphs] * len(seeds) if isinstance(graphs, SensitiveGraph) else list(graphs)
        check_stackable(GearConfig.from_dict(settings).effective(), each, seeds)
        models = [cls(seed=seed, device=device, **settings) for seed in seeds]
        data: list[GearData] = []
        for model, graph in zip(models, each, strict=True):
            check_trainable(graph)
            data.append(model._begin(graph, data[0].egos if data else None))
        shifts: list[Tensor | None] = [None] * len(models)
        config, first = models[0]._fitted_config, models[0].seed
        if config.uses_vae:
            vaes = VaeStack(
                [_known(m._generator_task(d)) for m, d in zip(models, data, strict=True)]
            )
            histories = train_together(
                vaes, steps=config.generator.steps, seed=first, description=_GENERATOR
            )
            for place, (model, history) in enumerate(zip(models, histories, strict=True)):
                shifts[place] = model._keep_generator(data[place], history)
        for regime in models[0]._regimes(each[0]):
            tasks = [
                m._network_task(d, regime, v) for m, d, v in zip(models, data, shifts, strict=True)
            ]
            histories = train_together(
                GearStack(tasks),
                steps=regime.steps,
                seed=first,
                description=_ENCODER,
                validate_every=config.validate_every,
                patience=config.patience,
            )
            for model, task, history, shift in zip(models, tasks, histories, shifts, strict=True):
                model._keep_trial(task, history, shift)
        for model, graph in zip(models, each, strict=True):
            model._settle_threshold(graph)
        return models

    def _begin(
        self, graph: SensitiveGraph, egos: EgoSource | None = None, folder: Path | None = None
    ) -> GearData:
        """Forget an earlier fit, make fresh modules, and gather what the fit reads."""
        config = self.config.effective()
        config.check_together()
        config.check_labels(int(graph.train_mask.sum()))
        check_divides(config.micro_batches, ranks())
        self.threshold_, self.history_, self.generator_report_ = None, {}, None
        self.causal_model_ = None
        self._settings, self.trials_ = self.config, []
        self._fitted_config = config
        self._build(graph.x.shape[1], graph.sens_column, config, self._regimes(graph)[0])
        index = self.ego_index(graph, folder=folder)
        return GearData.of(graph, index, self.scaler_, self.torch_device(), egos)

    def _regimes(self, graph: SensitiveGraph) -> tuple[Regime, ...]:
        return self._fitted_config.regimes(int(graph.train_mask.sum()))

    def _generator_task(self, data: GearData) -> VaeTask | None:
        """What trains the VAE, where there is one."""
        if self._vae is None:
            return None
        config = self._fitted_config
        with seeded(self.seed, "discriminator"):
            return VaeTask(
                self._vae, config.generator, data.egos, len(data.y), config.micro_batches
            )

    def _keep_generator(self, data: GearData, history: History) -> Tensor:
        """Report on the VAE, and give the shift of the features that it has learned."""
        assert self._vae is not None
        self.history_["generator"] = history
        self.generator_report_, shift = report_generator(
            VaeGenerator(self._vae), data.egos, len(data.y), seed=self.seed
        )
        return shift

    def _network_task(self, data: GearData, regime: Regime, shift: Tensor | None) -> GearTask:
        """What trains encoder and classifier in one of the ways."""
        network = self._new_network(regime)
        network.fit_inputs(
            data.x_asked, data.sens_asked, self.scaler_, shift if regime.from_generator else None
        )
        return GearTask(network, self._fitted_config, regime, self.generator(), data)

    def _keep_trial(self, task: GearTask, history: History, shift: Tensor | None) -> None:
        """Write down how well it went, and keep the network if it is the best so far."""
        regime, score = task.regime, _score(history)
        if not self.trials_ or score > max(trial.score for trial in self.trials_):
            self._network, self.regime_ = task.average, regime
            self.history_["network"] = history
            self.erases_means_ = task.network.erasure is not None and (
                shift is None or not regime.from_generator
            )
            self._advice = task.advice()
        self.trials_.append(RegimeTrial(regime, score))

    def _settle_threshold(self, graph: SensitiveGraph) -> None:
        self.threshold_ = HALF
        if self._advice:
            log(self._advice)
        assert self.regime_ is not None
        if self.regime_.threshold == "validation":
            scores = self.predict_proba(graph, nodes=graph.val_mask)[:, 1]
            self.threshold_ = most_accurate(graph.y[graph.val_mask].cpu().numpy(), scores)

    @torch.no_grad()
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """A few people at a time.

        Where several processes do this together, each has a part of every chunk.
        """
        self._fitted_threshold()
        device = self.torch_device()
        for module in (self.scaler_, self._network, self._vae):
            # `device` may have been changed since the fit.
            if module is not None:
                module.to(device)
        nodes = rows_of(graph, nodes)
        every = len(nodes) > len(graph.x) // 4
        index = self.ego_index(graph, None if every else nodes)
        rows = nodes if every else torch.arange(len(nodes))
        egos = EgoSource(graph, index, self.scaler_, device)
        job = ranks()
        with bar("embedding", total=len(rows)) as shown:
            for chunk in torch.split(rows, _CHUNK * job.size):
                own = self._network(egos(chunk[job.share(len(chunk))]))
                z, logits = (job.gathered(part.cpu(), len(chunk)) for part in own)
                yield z, logits
                shown.advance(len(chunk))

    def generator(self) -> Generator | None:
        """What makes the counterfactual egos of the fitted model.

        None for the variant np, and for a model with `augmentation="causal"` that was loaded: a
        causal model's worlds are those of the graph it was trained on, and are not saved.
        """
        return self._generator

    def ego_index(
        self, graph: SensitiveGraph, nodes: Tensor | None = None, folder: Path | None = None
    ) -> EgoIndex:
        """The ego index; shared with all models, since they ask about the same worlds.

        That of a large graph is kept in `folder`, if there is one, while it is being made.
        """
        k, alpha = self._fitted_config.k, self._fitted_config.alpha
        precision = self._fitted_config.ego_precision(len(graph.x))
        if nodes is not None and len(nodes) < _FEW:
            # A world of one person: nobody asks about it again.
            return EgoIndex.build(graph, k, alpha, nodes=nodes, precision=precision)
        return remembered(graph, k, alpha, nodes, precision, folder)

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


def _known(task: VaeTask | None) -> VaeTask:
    assert task is not None
    return task


def _score(history: History) -> float:
    assert history.best_score is not None
    return history.best_score


def _check_augmentation(config: GearConfig, causal_model: CausalModel | None) -> None:
    if causal_model is not None and not config.uses_causal_model:
        raise ParameterError(
            "causal_model",
            f"one, with augmentation {config.augmentation!r} and variant {config.variant!r}",
            "one with augmentation 'causal' and a variant that has a generator",
            "use Gear(augmentation='causal')",
        )


METHODS.add("gear", Gear)
