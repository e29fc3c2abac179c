"""Gear: node representations that are alike on a person's factual and counterfactual egos."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from torch import Tensor, nn

from fairgear import distributed
from fairgear.causal import CausalModel, for_graph
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.base import (
    METHODS,
    FitCheckpoints,
    check_trainable,
    run_key,
)
from fairgear.methods.ego_method import EGOS_FOLDER, EgoMethod
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.config import GearConfig, GeneratorConfig, Recipe, RecipeTrial
from fairgear.methods.gear.data import GearData
from fairgear.methods.gear.generator import CausalGenerator, FlipOnly, Generator, VaeGenerator
from fairgear.methods.gear.generator_training import VaeTask
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.gear.training import GearTask
from fairgear.nn import GraphVAE
from fairgear.progress import log
from fairgear.settings import settings_of
from fairgear.tensor_files import damaged
from fairgear.training import seeded, train


class Gear(EgoMethod):
    """GEAR: an encoder of ego subgraphs that treats a person alike in counterfactual worlds.

    After `fit`:

    - `threshold_`: the decision threshold.
    - `history_`: loss terms and validation over time, of `generator` and `network`.
    - `scaler_`: of the features.
    - `recipe_`, `trials_`: the training recipe that was kept, and all that were trained with
      their validation scores.
    - `causal_model_`: the fingerprint of the causal model that replaced the graph VAE, if any.
    - `trained_for_`: the causal models that it was trained for: "shift" where the difference of
      the groups' means was erased, and the fingerprint of `causal_model_`.

    Args:
        encoder: the subgraph encoder: graphsage, gcn, gin, jk or infomax.
        variant: full; without self (ns), neighbour (nn) or any (np) perturbation; without
            generator (nc).
        augmentation: the source of counterfactual egos: a graph VAE that is trained first
            ("vae"), or a causal model ("causal").
        k: members of an ego, its centre included.
        egos: proven members ("exact"), 99.5 % of them in less time ("close"), or "auto": exact up
            to 50,000 people.
        dim: dimension of the representations.
        fairness_weight: weight λ of the distance between embeddings of factual and
            counterfactual egos.
        neighbor_weight: share λ_s of the neighbour-perturbed egos in that distance.
        neighbor_draws: C, the number of neighbour-perturbed egos per person and step.
        logit_weight: weight of the difference between factual and counterfactual logits; None for
            1 or 2, by recipe.
        erase: share of the groups' difference that is projected out of the features; s removes
            the rest. 1 is fair under both protocols, 0 under `strict` only but more accurate,
            None erases nothing.
        r2_limit: R² between predicted labels and the mean sensitive value around a person that is
            allowed on the validation set; above it, a penalty grows. 1 allows all.
        learning_rate: of Adam; None for 0.01 up to 5,000 training labels, else 0.003.
        steps: training steps, one batch each; None for 1,000 or 2,000, by recipe.
        batch_size: egos a batch, of labelled people and again of all; None for 100 up to 5,000
            training labels, else 300.
        micro_batches: parts of a batch that are computed separately, so that processes can share
            a step.
        threshold: 0.5 ("half"), the most accurate on the validation set ("validation"), or
            "auto": half up to 5,000 training labels.
        generator: settings of the graph VAE.
        recipe: overrides of the training recipe, for studies of single constants. Not a stable
            interface.
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".
    """

    name = "gear"
    config_type = GearConfig
    config: GearConfig
    _settings: GearConfig
    _fitted_config: GearConfig
    """What the variant leaves in force of `_settings`."""
    _network: GearNetwork
    _vae: GraphVAE | None = None
    _generator: Generator | None = None
    _advice = ""

    def __init__(
        self,
        *,
        encoder: str = "graphsage",
        variant: str = "full",
        augmentation: str = "vae",
        k: int = 20,
        egos: str = "auto",
        dim: int = 64,
        fairness_weight: float = 0.6,
        neighbor_weight: float = 0.4,
        neighbor_draws: int = 2,
        logit_weight: float | None = None,
        erase: float | None = 1.0,
        r2_limit: float = 0.035,
        learning_rate: float | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        micro_batches: int = 1,
        threshold: str = "auto",
        generator: GeneratorConfig | dict[str, Any] | None = None,
        recipe: dict[str, Any] | None = None,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        generator = GeneratorConfig() if generator is None else generator
        recipe = {} if recipe is None else recipe
        given = locals()
        settings = {name: given[name] for name in settings_of(GearConfig)}
        super().__init__(seed=seed, device=device, **settings)
        self.recipe_: Recipe | None = None
        self.trials_: list[RecipeTrial] = []
        self.causal_model_: str | None = None
        self._erases_means = False

    def fit(
        self,
        graph: SensitiveGraph,
        *,
        checkpoint: Path | None = None,
        causal_model: CausalModel | None = None,
    ) -> Self:
        """Train the generator on all nodes, then encoder and classifier.

        With `augmentation="causal"` the fitted `causal_model`, by default that of the graph,
        replaces the generator.
        """
        check_trainable(graph)
        config = self.config.effective()
        if causal_model is not None and not config.uses_causal_model:
            raise ParameterError(
                "causal_model",
                f"one, with augmentation {config.augmentation!r} and variant {config.variant!r}",
                "one with augmentation 'causal' and a variant that has a generator",
                "use Gear(augmentation='causal')",
            )
        labels = int(graph.train_mask.sum())
        config.check_batches(labels, distributed.size())
        recipes = config.recipes(labels)
        self.threshold_, self.causal_model_, self._settings = None, None, self.config
        self.history_, self.trials_, self.recipe_ = {}, [], None
        self._build(graph.x.shape[1], graph.sens_column)
        index = self.ego_index(graph, folder=checkpoint and checkpoint / EGOS_FOLDER)
        data = GearData.of(graph, index, self.scaler_, self.torch_device())
        if config.uses_causal_model:
            causal_model = for_graph(graph) if causal_model is None else causal_model
            self.causal_model_ = causal_model.fingerprint()
            on_device = self.ego_index(graph).to(self.torch_device())
            self._generator = CausalGenerator(
                causal_model, graph, on_device, self.scaler_, seed=self.seed
            )
        # The recipes may differ between two commits of one version.
        constants = json.dumps([asdict(recipe) for recipe in recipes])
        files = FitCheckpoints(checkpoint, run_key(self, graph, self.causal_model_, constants))
        shift = self._train_generator(data, files)
        for number, recipe in enumerate(recipes):
            self._train_network(data, recipe, shift, files, f"network{number}")
        assert self.recipe_ is not None
        if self._advice:
            log(self._advice)
        self._set_threshold(graph, self.recipe_.threshold)
        files.remove()
        return self

    def _train_generator(self, data: GearData, files: FitCheckpoints) -> Tensor | None:
        """Train the graph VAE, if there is one, and return the shift that it has learned."""
        if self._vae is None:
            return None
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
        return VaeGenerator(self._vae).learned_shift(data.egos, people, seed=self.seed)

    def _train_network(
        self,
        data: GearData,
        recipe: Recipe,
        shift: Tensor | None,
        files: FitCheckpoints,
        name: str,
    ) -> None:
        """Train a network by one recipe, and keep it if it is the best so far."""
        network = self._new_network(recipe)
        direction = shift if recipe.direction == "generator" else None
        network.fit_inputs(data.x_sample, data.sens_sample, self.scaler_, direction)
        task = GearTask(network, self._fitted_config, recipe, self.generator(), data)
        history = train(
            task,
            steps=recipe.steps,
            seed=self.seed,
            description="training the encoder",
            validate_every=recipe.validate_every,
            checkpoint=files.checkpoint(name),
        )
        score = history.best_score
        assert score is not None
        if not self.trials_ or score > max(trial.score for trial in self.trials_):
            self._network, self.recipe_ = task.average, recipe
            self.history_["network"] = history
            self._erases_means = network.erasure is not None and direction is None
            self._advice = task.advice()
        self.trials_.append(RecipeTrial(recipe, score))

    @property
    def trained_for_(self) -> tuple[str, ...]:  # type: ignore[override]  # decided by the fit
        """See the class."""
        erased = ("shift",) if self._erases_means else ()
        return (*erased, *filter(None, [self.causal_model_]))

    def generator(self) -> Generator | None:
        """What makes the counterfactual egos of the fitted model.

        None for the variant np, and for a loaded model with `augmentation="causal"`: the worlds
        of its causal model belong to the graph it was trained on, and are not saved.
        """
        return self._generator

    def _build(self, width: int, sens_column: int | None) -> None:
        config = self._fitted_config = self._settings.effective()
        self.scaler_ = FeatureScaler(width, sens_column).to(self.torch_device())
        self._vae = None
        self._generator = FlipOnly() if config.variant == "nc" else None
        if config.uses_vae:
            features, settings = len(self.scaler_.mean), config.generator
            with seeded(self.seed, "initialisation of the generator"):
                vae = GraphVAE(features, settings.hidden, settings.latent)
            self._vae = vae.to(self.torch_device())
            self._generator = VaeGenerator(self._vae)
        if self.recipe_ is not None:
            # A saved model; `fit` makes a network for each recipe.
            self._network = self._new_network(self.recipe_)

    def _new_network(self, recipe: Recipe) -> GearNetwork:
        """A fresh network; its initialisation does not depend on other recipes."""
        with seeded(self.seed, "initialisation"):
            network = GearNetwork(len(self.scaler_.mean), self._fitted_config, recipe)
        return network.to(self.torch_device())

    def _networks(self) -> dict[str, nn.Module]:
        return {"network": self._network} | ({} if self._vae is None else {"vae": self._vae})

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        assert self.recipe_ is not None
        return tensors, facts | {
            "recipe": asdict(self.recipe_),
            "trials": [asdict(trial) for trial in self.trials_],
            "causal_model": self.causal_model_,
            "erases_means": self._erases_means,
        }

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        try:
            self.recipe_ = Recipe.from_dict(facts["recipe"])
            self.trials_ = [
                RecipeTrial(Recipe.from_dict(trial["recipe"]), float(trial["score"]))
                for trial in facts["trials"]
            ]
            self.causal_model_ = facts["causal_model"]
            self._erases_means = bool(facts["erases_means"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(path) from error
        super()._restore(path, tensors, facts)


METHODS.add("gear", Gear)
