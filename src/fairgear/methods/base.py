"""What every method is: an estimator in the manner of scikit-learn, over graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal import LocalWorld
from fairgear.decoding import from_json
from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import BINARY, KINDS, REGRESSION, Target
from fairgear.methods.configured import Configured
from fairgear.methods.names import GROUP, NAMES
from fairgear.methods.saved import About, Saved, read_saved, write_saved
from fairgear.methods.thresholds import decide
from fairgear.methods.trainable import check_trainable
from fairgear.registry import Registry
from fairgear.tensor_files import restoring

Scores = NDArray[np.float64]
Labels = NDArray[np.int64]


class Method(Configured, ABC):
    """A node classifier: the constructor only stores, `fit` works and returns self.

    Args:
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        settings: the fields of `config_type`.

    Example:
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> logistic = METHODS["logistic"](seed=1).fit(graph)
        >>> logistic.predict_proba(graph).shape
        (160, 2)
        >>> logistic.get_params()["seed"]
        1
    """

    name: ClassVar[str]
    reads_graph: ClassVar[bool] = True
    """Whether it uses edges; a floor sees people's own features only."""
    targets: ClassVar[Sequence[str]] = ("binary",)
    """What labels it can learn: "binary", "multiclass", "regression"; others are refused."""
    several_groups: ClassVar[bool] = False
    """Whether it can be trained on more than two groups."""
    number_of_s: ClassVar[bool] = False
    """Whether the sensitive attribute may be a number."""
    groups_: int = 2
    """How many it was trained on; 0 where the sensitive attribute is a number."""
    target_: Target = BINARY
    """What it predicts; numbers have mean and standard deviation of the training labels."""
    offsets_: Scores | None = None
    """Of several classes: what is added to the logarithms of their probabilities."""
    trained_for_: Sequence[str] = ()
    """The causal models whose counterfactuals it was trained to treat alike: feature models by
    name, others by their fingerprint."""

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        # Those of the last fit; `set_params` may change `config` later.
        self._settings = self.config
        self.threshold_: float | None = None

    @abstractmethod
    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Learn from the graph's training nodes.

        Args:
            graph: a graph with masks; test labels are never read.
            checkpoint: a folder to resume from, and to write to regularly.
        """

    @abstractmethod
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes) for `nodes` (default: all); refused for numbers."""

    def predict_near(self, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor]) -> Scores | None:
        """Scores of the rows `nodes[i]` in `worlds[i]`, from their surroundings alone.

        One world after another, as `scores` has them. None for a method that must see the whole
        graph.
        """
        return None

    @abstractmethod
    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim) of `nodes` (default: all)."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The fitted tensors, and the facts that belong to them."""

    @abstractmethod
    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Load what `_state` returned."""

    def scores(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """What audits read: probabilities (m, classes), or numbers (m, 1)."""
        if self.target_.is_number:
            return np.asarray(self.predict(graph, nodes=nodes), dtype=np.float64)[:, None]
        return self.predict_proba(graph, nodes=nodes)

    def predict(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Labels | Scores:
        """Classes (m,) at the decision threshold or by the largest score; or numbers (m,)."""
        return self.decide(self.scores(graph, nodes=nodes))

    def decide(self, scores: Scores) -> Labels | Scores:
        """Answers (m,) from `scores`."""
        return decide(scores, self.target_, self._fitted_threshold(), self.offsets_)

    def _aim(self, graph: SensitiveGraph) -> None:
        """Refuse labels that it cannot learn, and set `target_`; the first step of a fit."""
        kinds = {"several_groups": self.several_groups, "number_of_s": self.number_of_s}
        check_trainable(graph, self.targets, self.name, **kinds)
        self.groups_ = 0 if graph.continuous else graph.num_groups
        self.target_, self.offsets_ = graph.target.over(graph.y[graph.train_mask]), None

    def _check_attribute(self, graph: SensitiveGraph) -> None:
        """Refuse a number where it was fitted to groups, and groups where it was to a number."""
        if graph.continuous != (self.groups_ == 0):
            kinds = ("a number", "groups") if graph.continuous else ("groups", "a number")
            raise GraphError(
                f"sensitive attribute of a graph for a fitted {type(self).__name__}",
                *kinds,
                "pass a graph with the attribute that it was fitted to",
            )

    def _refuse_numbers(self) -> None:
        """Probabilities of numbers do not exist."""
        self._fitted_threshold()
        if self.target_.is_number:
            raise ParameterError(
                f"predict_proba of {type(self).__name__}",
                "a model of numbers",
                "a model of classes",
                "call predict(graph)",
            )

    def _repr_html_(self) -> str:
        from fairgear.methods.summary import method_html

        return method_html(self)

    def save(self, path: Path | str) -> None:
        """Write the fitted model to the folder `path`: weights.safetensors and model.json."""
        threshold = self._fitted_threshold()
        tensors, facts = self._state()
        about = {
            "method": self.name,
            "seed": self.seed,
            "threshold": threshold,
            "config": self._settings.to_dict(),
            "target": asdict(self.target_),
            "groups": self.groups_,
            "offsets": None if self.offsets_ is None else self.offsets_.tolist(),
        }
        write_saved(Path(path), about, tensors, facts)

    @classmethod
    def load(cls, path: Path | str, *, device: str = "auto") -> Self:
        """A fitted model from the folder that `save` wrote."""
        return cls._of(read_saved(Path(path)), device)

    @classmethod
    def _of(cls, saved: Saved, device: str) -> Self:
        """The model that a folder holds."""
        about = saved.about
        if about["method"] != cls.name:
            raise FileError(
                f"model folder {saved.folder}",
                f"a model of the method {about['method']!r}",
                repr(cls.name),
                "load it with fairgear.load_model",
            )
        config = cls.config_type.from_dict(about["config"])
        model = cls.from_config(config, seed=about["seed"], device=device)
        model._set_target(saved)
        with restoring(saved.weights, saved.tensors, saved.facts, about["config"]):
            model._restore(saved.weights, saved.tensors, saved.facts)
        model.threshold_ = float(about["threshold"])
        return model

    def _set_target(self, saved: Saved) -> None:
        """What a saved model predicts; two classes where the file does not say."""
        known = from_json(About, saved.about)
        self.groups_, self.target_ = known.groups, known.target
        offsets = None if known.offsets is None else np.array(known.offsets, dtype=np.float64)
        self.offsets_ = offsets
        numbers = [known.threshold, known.target.mean, known.target.sd, *(known.offsets or ())]
        few = known.target.kind != REGRESSION and len(known.target.classes) < 2
        if not np.isfinite(numbers).all() or known.target.kind not in KINDS or few:
            raise saved.damaged()
        if offsets is not None and len(offsets) != len(known.target.classes):
            raise saved.damaged()

    def _fitted_threshold(self) -> float:
        if self.threshold_ is None:
            raise NotFittedError(
                f"a {type(self).__name__}", "one without a fit", "a fitted one", "call fit(graph)"
            )
        return self.threshold_


METHODS: Registry[type[Method]] = Registry("method", group=GROUP, base=Method, order=NAMES)
