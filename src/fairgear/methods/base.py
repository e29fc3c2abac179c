"""What every method is: an estimator in the manner of scikit-learn, over graphs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.files import write_json
from fairgear.graph import SensitiveGraph
from fairgear.registry import Registry
from fairgear.settings import Config
from fairgear.tensor_files import read_tensors, write_tensors

# Of a saved model; another number when what is saved changes.
FORMAT = 3

Scores = NDArray[np.float64]
Labels = NDArray[np.int64]


class Method(ABC):
    """A node classifier: the constructor only stores, `fit` works and returns self.

    Args:
        seed: initialisation and every draw of the training.
        device: "auto" (CUDA where there is one), "cpu" or "cuda".
        settings: the fields of the method's config.
    """

    name: ClassVar[str]
    config_type: ClassVar[type[Config]]
    reads_graph: ClassVar[bool] = True
    """Whether edges have a part in it; a floor knows people's own features alone."""

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        self.seed = seed
        self.device = device
        self.config = self.config_type.from_dict(settings)
        self.threshold_: float | None = None

    @abstractmethod
    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Learn from the graph's training nodes.

        Args:
            graph: a graph with masks; test labels are never read.
            checkpoint: a folder to go on from, and to write to now and then.
        """

    @abstractmethod
    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, 2) of the classes 0 and 1 for `nodes` (default: all)."""

    @abstractmethod
    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """Representations (m, dim) of `nodes` (default: all)."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The fitted tensors, and the facts that belong to them."""

    @abstractmethod
    def _fitted_settings(self) -> Config:
        """The settings at the time of the fit; `set_params` may have changed `config` since."""

    @abstractmethod
    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Put back what `_state` gave."""

    def predict(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Labels:
        """Labels (m,) at the decision threshold."""
        scores = self.predict_proba(graph, nodes=nodes)[:, 1]
        return (scores > self._fitted_threshold()).astype(np.int64)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All arguments of the constructor, as scikit-learn's `clone` asks for them."""
        settings = {f.name: getattr(self.config, f.name) for f in fields(self.config)}
        return {"seed": self.seed, "device": self.device, **settings}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; `generator__steps` reaches into a nested config."""
        for key, value in params.items():
            if key in ("seed", "device"):
                setattr(self, key, value)
                continue
            outer, _, inner = key.partition("__")
            nested = isinstance(getattr(self.config, outer, None), Config)
            if outer not in self.get_params() or (inner and not nested):
                raise ParameterError(
                    f"parameter of {type(self).__name__}",
                    repr(key),
                    ", ".join(self.get_params()),
                    "correct the name",
                )
            if inner:
                value = {**getattr(self.config, outer).to_dict(), inner: value}
            self.config = self.config_type.from_dict({**self.config.to_dict(), outer: value})
        return self

    def save(self, path: Path | str) -> None:
        """Write the fitted model to the folder `path`: weights.safetensors and model.json."""
        threshold = self._fitted_threshold()
        tensors, facts = self._state()
        folder = Path(path)
        about = {
            "format": FORMAT,
            "method": self.name,
            "seed": self.seed,
            "threshold": threshold,
            "config": self._fitted_settings().to_dict(),
        }
        write_tensors(folder / "weights.safetensors", tensors, facts)
        write_json(folder / "model.json", about)

    @classmethod
    def load(cls, path: Path | str, *, device: str = "auto") -> Self:
        """A fitted model from the folder that `save` wrote."""
        folder = Path(path)
        about = read_about(folder)
        if about["method"] != cls.name:
            raise FileError(
                f"model folder {folder}",
                f"a model of the method {about['method']!r}",
                repr(cls.name),
                "load it with fairgear.load_model",
            )
        model = cls(seed=about["seed"], device=device)
        model.config = cls.config_type.from_dict(about["config"])
        tensors, facts = read_tensors(folder / "weights.safetensors")
        model._restore(folder / "weights.safetensors", tensors, facts)
        model.threshold_ = float(about["threshold"])
        return model

    def torch_device(self) -> torch.device:
        """The device that the work runs on."""
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if self.device not in ("cpu", "cuda") or (
            self.device == "cuda" and not torch.cuda.is_available()
        ):
            available = ["auto", "cpu"] + (["cuda"] if torch.cuda.is_available() else [])
            raise ParameterError(
                "device",
                repr(self.device),
                ", ".join(available),
                "use 'auto' to take what there is",
            )
        return torch.device(self.device)

    def _fitted_threshold(self) -> float:
        if self.threshold_ is None:
            raise NotFittedError(
                f"a {type(self).__name__} that was never fitted",
                "a call that needs a fitted model",
                "calls after fit",
                "call fit(graph) first",
            )
        return self.threshold_


METHODS: Registry[type[Method]] = Registry("method", group="fairgear.methods", base=Method)


def load_model(path: Path | str, *, device: str = "auto") -> Method:
    """A fitted model of any method, from the folder that its `save` wrote."""
    about = read_about(Path(path))
    return METHODS[str(about["method"])].load(path, device=device)


_ABOUT = {"method": str, "seed": int, "threshold": float, "config": dict}


def read_about(folder: Path) -> dict[str, Any]:
    """The facts of a saved model."""
    try:
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        fine = isinstance(about, dict) and about.get("format") == FORMAT
        fine = fine and all(isinstance(about.get(key), kind) for key, kind in _ABOUT.items())
    except (OSError, ValueError):
        fine = False
    if not fine:
        raise FileError(
            f"model folder {folder}",
            "no model.json in it that this version of fairgear wrote",
            "a folder that a model's save wrote",
            "check the path, or train and save the model again",
        )
    return dict(about)


def check_trainable(graph: SensitiveGraph) -> None:
    """What only a training graph needs: both groups, both classes, nodes to train and judge on."""
    for name, values, mask in (
        ("group", graph.sens, torch.ones_like(graph.train_mask)),
        ("class among the training nodes", graph.y, graph.train_mask),
        ("class among the validation nodes", graph.y, graph.val_mask),
    ):
        present = set(values[mask].tolist())
        if present != {0, 1}:
            shown = ", ".join(str(v) for v in sorted(present)) or "no node"
            raise GraphError(
                f"a graph to train on, each {name}",
                shown,
                "both 0 and 1, and nothing else",
                "give labels and masks in which both occur, see fairgear.graph.split",
            )
