"""What every method is: an estimator in the manner of scikit-learn, over graphs."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear.causal import LocalWorld
from fairgear.decoding import from_json
from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import BINARY, KINDS, REGRESSION, Target
from fairgear.methods.configured import Configured
from fairgear.methods.features import FeatureScaler
from fairgear.methods.heads import Head
from fairgear.methods.names import GROUP
from fairgear.methods.saved import About, Saved, columns_of, read_saved, write_saved
from fairgear.methods.thresholds import HALF, decide, most_accurate, most_accurate_offsets
from fairgear.registry import Registry
from fairgear.tensor_files import damaged, restoring
from fairgear.training import Checkpoint, History
from fairgear.training.checkpoints import load_module, module_tensors
from fairgear.version import installed_version

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


class NetworkMethod(Method):
    """A method whose network returns representations and logits.

    After `fit`: `history_` (loss terms and validation over time, by stage) and `scaler_` (of the
    features).
    """

    scaler_: FeatureScaler

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}

    @abstractmethod
    def _build(self, width: int, sens_column: int | None) -> None:
        """Set `scaler_` and fresh networks, initialised from the seed, for x of `width` columns."""

    @abstractmethod
    def _networks(self) -> dict[str, nn.Module]:
        """What is saved besides the scaler, by name."""

    @abstractmethod
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Representations (m, dim) and logits (m,), or (m, classes) where there are several.

        On the CPU, for consecutive parts of `nodes`.
        """

    @property
    def head(self) -> Head:
        """From logits to answers."""
        return Head(self.target_)

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes); the graph may differ from the one in `fit`."""
        self._refuse_numbers()
        return self.scores(graph, nodes=nodes)

    def scores(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes), or numbers (m, 1)."""
        parts = [logits for _, logits in self.chunks(graph, nodes=nodes)]
        return self.head.answers(torch.cat(parts))

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim): what the classifier reads."""
        return np.concatenate([z.numpy() for z, _ in self.chunks(graph, nodes=nodes)])

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("scaler", self.scaler_)
        for name, module in self._networks().items():
            tensors |= module_tensors(name, module)
        facts = {
            "features": self.scaler_.width,
            "sens_column": self.scaler_.sens_column,
            "history": {name: history.as_dict() for name, history in self.history_.items()},
        }
        return tensors, facts

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._build(*columns_of(path, facts))
        load_module(path, "scaler", self.scaler_, tensors)
        for name, module in self._networks().items():
            load_module(path, name, module, tensors)
            module.eval()
        try:
            self.history_ = {name: History(**rows) for name, rows in facts["history"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise damaged(path) from error

    def _set_threshold(self, graph: SensitiveGraph, rule: str) -> None:
        """0.5 or the largest score; with the rule `validation` what is most accurate there."""
        self.threshold_ = HALF
        if rule == "validation" and not self.target_.is_number:
            scores = self.scores(graph, nodes=graph.val_mask)
            self._validated(graph.y[graph.val_mask].cpu().numpy(), scores)

    def _validated(self, y: Labels, scores: Scores) -> None:
        if self.target_.is_binary:
            self.threshold_ = most_accurate(y, scores[:, 1])
        else:
            self.offsets_ = most_accurate_offsets(y, scores)


METHODS: Registry[type[Method]] = Registry("method", group=GROUP, base=Method)


def load_model(
    path: Path | str, *, device: str = "auto", method: type[Method] | str | None = None
) -> Method:
    """A fitted model of any method that is registered, from the folder that its `save` wrote.

    Args:
        path: the folder. Whatever it names, no code is imported but that of installed packages.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        method: one that is not registered: its class, or MODULE:CLASS, which is imported.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> folder = METHODS["logistic"]().fit(graph).save("model")
        >>> fg.load_model("model").predict(graph)[:4].tolist()
        [0, 1, 1, 1]
    """
    saved = read_saved(Path(path))
    name = str(saved.about["method"])
    kind = METHODS.resolve(method) if isinstance(method, str) else method
    if kind is None or kind.name != name:
        if name not in METHODS:
            allowed = ", ".join(METHODS) if kind is None else f"{kind.name}, {', '.join(METHODS)}"
            step = "name its class if you trust it: --method MODULE:CLASS, or load_model(method=)"
            got = f"a model of the method {name!r}, which is not registered"
            raise FileError(f"model folder {path}", got, allowed, step)
        kind = METHODS[name]
    return kind._of(saved, device)


class FitCheckpoints:
    """The checkpoints of the stages of one fit, if it has a folder; all stay until it is done.

    `key` identifies the fit, see `run_key`.
    """

    def __init__(self, folder: Path | None, key: str) -> None:
        self._folder = folder
        self._key = key
        self._made: list[Checkpoint] = []

    def checkpoint(self, name: str) -> Checkpoint | None:
        """That of one stage."""
        if self._folder is None:
            return None
        made = Checkpoint(Path(self._folder) / f"{name}.safetensors", self._key)
        self._made.append(made)
        return made

    def remove(self) -> None:
        """Delete all of them."""
        for made in self._made:
            made.remove()


def run_key(method: Configured, graph: SensitiveGraph, *more: str | None) -> str:
    """A hash of what determines a fit: method, settings, seed, graph, and `more`."""
    what = [installed_version(), method.name, method.config.to_dict(), method.seed]
    text = json.dumps([*what, graph.fingerprint(), graph.sens_column, *more], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def check_trainable(
    graph: SensitiveGraph,
    targets: Sequence[str] = ("binary",),
    method: str = "the method",
    *,
    several_groups: bool = False,
    number_of_s: bool = False,
) -> None:
    """Refuse a graph without all groups, or without all classes in training or validation.

    Labels of a kind that is not among `targets` are refused too, and so are more than two groups,
    or a sensitive attribute that is a number, unless the method can have them; numbers must differ.
    """
    target = graph.target
    if target.kind not in targets:
        able = [name for name in METHODS if target.kind in METHODS[name].targets]
        raise GraphError(
            f"labels to train {method} on",
            target.words,
            "two classes" if tuple(targets) == ("binary",) else ", ".join(targets),
            f"use one of {', '.join(able)}, or recode the label",
        )
    check_sensitive(graph, method, several_groups=several_groups, number_of_s=number_of_s)
    for part, mask in (("training", graph.train_mask), ("validation", graph.val_mask)):
        y, what = graph.y[mask], f"among the {part} nodes"
        if target.is_number:
            _check_numbers(what, y)
        else:
            _check_present(f"class {what}", y, range(len(target.classes)))


def check_sensitive(
    graph: SensitiveGraph,
    method: str,
    *,
    several_groups: bool,
    number_of_s: bool,
    able: Sequence[str] | None = None,
) -> None:
    """Refuse a graph without all groups, or whose attribute is of a kind a method cannot have.

    Where that is a number, `able` are the methods that can; those of people if not given.
    """
    if graph.continuous:
        if able is None:
            able = [each for each in METHODS if METHODS[each].number_of_s]
        _check_number(graph, method, number_of_s, able)
        return
    if graph.num_groups > 2 and not several_groups:
        able = [name for name in METHODS if METHODS[name].several_groups]
        raise GraphError(
            f"a graph to train {method} on",
            f"{graph.num_groups} groups",
            "two groups",
            f"use one of {', '.join(able)}, or --sensitive-against VALUE",
        )
    _check_present("group", graph.sens, range(graph.num_groups))


def _check_number(
    graph: SensitiveGraph, method: str, number_of_s: bool, able: Sequence[str]
) -> None:
    """Refuse a sensitive attribute that is a number, or the same number for everybody."""
    name = graph.attributes.name if graph.attributes else "s"
    what = f"a graph to train {method} on"
    if not number_of_s:
        step = (
            f'use one of {", ".join(able)}, or compare two groups, such as --sensitive "{name}<40"'
        )
        raise GraphError(what, f"the number {name!r} as sensitive attribute", "groups", step)
    if len(torch.unique(graph.sens)) < 2:
        got, step = f"the same {name!r} for everybody", "name another sensitive attribute"
        raise GraphError(what, got, "numbers that differ", step)


def _check_present(name: str, values: Tensor, wanted: Sequence[int]) -> None:
    present = set(values.tolist())
    if present != set(wanted):
        shown = ", ".join(str(v) for v in sorted(present)) or "no node"
        two = list(wanted) == [0, 1]
        every = "both 0 and 1" if two else f"each of 0 to {len(wanted) - 1}"
        raise GraphError(
            f"a graph to train on, each {name}",
            shown,
            f"{every}, and nothing else",
            "give labels and masks in which "
            f"{'both' if two else 'all'} occur, see fairgear.graph.split",
        )


def _check_numbers(what: str, y: Tensor) -> None:
    if bool(y.isnan().any()) or len(torch.unique(y)) < 2:
        raise GraphError(
            f"a graph to train on, numbers {what}",
            f"{len(y)} nodes, {int(y.isnan().sum())} of them without a number",
            "numbers that differ, and no unknown ones",
            "give labels and masks, see fairgear.graph.split",
        )
