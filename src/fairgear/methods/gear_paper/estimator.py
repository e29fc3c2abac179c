"""GearPaper: GEAR as its paper describes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from fairgear import distributed
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import KINDS
from fairgear.methods.base import METHODS
from fairgear.methods.ego_method import EGOS_FOLDER, EgoMethod
from fairgear.methods.egos import EgoGenerator
from fairgear.methods.features import FeatureScaler
from fairgear.methods.fit_checkpoints import FitCheckpoints, run_key
from fairgear.methods.gear_paper.config import GearPaperConfig, VaeConfig
from fairgear.methods.gear_paper.generator import FlipOnly, VaeGenerator
from fairgear.methods.gear_paper.generator_training import VaeTask
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.gear_paper.training import PaperData, PaperTask
from fairgear.nn import GraphVAE, SensCode
from fairgear.progress import log
from fairgear.settings import settings_of
from fairgear.training import seeded, train


class GearPaper(EgoMethod):
    """GEAR with the settings of the paper's text (WSDM 2022).

    An encoder of ego subgraphs learns to embed a person's factual ego and counterfactual ones,
    which a graph VAE makes, alike. docs/reference/methods/gear-paper.md lists where it departs
    from the text.

    After `fit`:

    - `threshold_`: the decision threshold.
    - `history_`: loss terms and validation over time, of `generator` and `network`.
    - `scaler_`: of the features.

    Args:
        encoder: the subgraph encoder: graphsage, gcn, gin, jk or infomax.
        variant: full; without self (ns), neighbour (nn) or any (np) perturbation; without
            generator (nc).
        k: members of an ego, its centre included.
        egos: proven members ("exact"), 99.5 % of them in less time ("close"), or "auto": exact up
            to 50,000 people.
        dim: dimension of the representations.
        fairness_weight: weight λ of the distance between embeddings of factual and
            counterfactual egos.
        neighbor_weight: share λ_s of the neighbour-perturbed egos in that distance.
        neighbor_draws: C, the number of neighbour-perturbed egos per person and step.
        learning_rate: of Adam.
        steps: training steps, one batch each.
        epochs: passes over the labelled people, in place of `steps`; None for steps.
        batch_size: egos a batch, of labelled people and again of all.
        micro_batches: parts of a batch that are computed separately, so that processes can share
            a step.
        threshold: 0.5 ("half"), or the most accurate on the validation set ("validation").
        generator: settings of the graph VAE, and how counterfactual egos are made with it.
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> paper = fg.GearPaper(k=5, dim=8, steps=20, generator={"steps": 20}).fit(graph)
        >>> paper.predict(graph).shape
        (160,)
    """

    name = "gear-paper"
    targets = KINDS
    several_groups = True
    number_of_s = True
    config_type = GearPaperConfig
    config: GearPaperConfig
    _settings: GearPaperConfig
    _fitted_config: GearPaperConfig
    _network: PaperNetwork
    _vae: GraphVAE | None = None
    _generator: EgoGenerator | None = None

    def __init__(
        self,
        *,
        encoder: str = "graphsage",
        variant: str = "full",
        k: int = 20,
        egos: str = "auto",
        dim: int = 1024,
        fairness_weight: float = 0.6,
        neighbor_weight: float = 0.4,
        neighbor_draws: int = 2,
        learning_rate: float = 0.001,
        steps: int = 1000,
        epochs: int | None = None,
        batch_size: int = 100,
        micro_batches: int = 1,
        threshold: str = "half",
        generator: VaeConfig | dict[str, Any] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        generator = VaeConfig() if generator is None else generator
        given = locals()
        settings = {name: given[name] for name in settings_of(GearPaperConfig)}
        super().__init__(seed=seed, device=device, **settings)

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Train the generator on all nodes, then encoder and classifier."""
        self._aim(graph)
        config = self.config
        config.check_batches(int(graph.train_mask.sum()), distributed.size())
        self.threshold_, self._settings, self.history_ = None, config, {}
        self._directed = graph.directed
        self._build(graph.x.shape[1], graph.sens_column)
        index = self.ego_index(graph, folder=checkpoint and checkpoint / EGOS_FOLDER)
        data = PaperData.of(graph, index, self.scaler_, self.torch_device(), self.head)
        if data.values.observed is not None:
            self._network.code.fit(data.values.observed)
            if self._vae is not None:
                self._vae.code.fit(data.values.observed)
        files = FitCheckpoints(checkpoint, run_key(self, graph))
        self._train_generator(data, files)
        self._train_network(data, files)
        self._set_threshold(graph, config.threshold)
        files.remove()
        return self

    def _train_generator(self, data: PaperData, files: FitCheckpoints) -> None:
        """Train the graph VAE, if there is one."""
        if self._vae is None:
            return
        config, people = self._fitted_config, len(data.y)
        with seeded(self.seed, "discriminator"):
            task = VaeTask(self._vae, config.generator, data.egos, people, config.micro_batches)
        self.history_["generator"] = train(
            task,
            steps=config.generator.steps,
            seed=self.seed,
            description="training the generator",
            checkpoint=files.checkpoint("generator"),
        )

    def _train_network(self, data: PaperData, files: FitCheckpoints) -> None:
        """Train encoder and classifier, and say what another threshold would gain."""
        config, labels = self._fitted_config, len(data.train_rows)
        task = PaperTask(self._network, config, self._generator, data, seed=self.seed)
        self.history_["network"] = train(
            task,
            steps=config.training_steps(labels),
            seed=self.seed,
            description="training the encoder",
            validate_every=config.validate_every(labels),
            checkpoint=files.checkpoint("network"),
        )
        advice = task.advice()
        if advice:
            log(advice)

    def generator(self) -> EgoGenerator | None:
        """What makes the counterfactual egos of the fitted model; None for the variant np."""
        return self._generator

    def _build(self, width: int, sens_column: int | None) -> None:
        config = self._fitted_config = self._settings
        device = self.torch_device()
        self.scaler_ = FeatureScaler(width, sens_column).to(device)
        features = len(self.scaler_.mean)
        self._vae = None
        self._generator = FlipOnly() if config.variant == "nc" else None
        if config.uses_vae:
            with seeded(self.seed, "initialisation of the generator"):
                sizes = (config.generator.hidden, config.generator.latent)
                vae = GraphVAE(features, *sizes, SensCode(self.groups_), directed=self._directed)
            self._vae = vae.to(device)
            self._generator = VaeGenerator(self._vae, config.generator)
        with seeded(self.seed, "initialisation"):
            code, outputs = SensCode(self.groups_), self.target_.outputs
            network = PaperNetwork(features, config, code=code, outputs=outputs)
        self._network = network.to(device)

    def _networks(self) -> dict[str, nn.Module]:
        return {"network": self._network} | ({} if self._vae is None else {"vae": self._vae})

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        return tensors, facts | {"directed": self._directed}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._directed = bool(facts.get("directed", False))
        super()._restore(path, tensors, facts)


METHODS.add("gear-paper", GearPaper)
