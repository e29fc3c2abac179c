"""What our models of links share: settings, saving and loading."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor

from fairgear.decoding import from_json
from fairgear.errors import FileError, NotFittedError
from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, Floats, LinkModel, PairScorer
from fairgear.links.origin import SplitOrigin
from fairgear.links.pairs import check_ends
from fairgear.methods.configured import Configured
from fairgear.methods.saved import LINKS, About, Saved, read_saved, write_saved
from fairgear.settings import Config
from fairgear.tensor_files import restoring


class LinkMethod(Configured, LinkModel):
    """A model of links with settings: the constructor only stores, `fit` works.

    Args:
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".
        settings: the fields of `config_type`.

    Example:
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> model = LINK_METHODS["common-neighbours"]().fit(split)
        >>> model.score(split.input, split.test.ends).shape
        (138,)
    """

    groups_: int = 2
    """How many it was fitted to; 0 where the sensitive attribute is a number."""
    origin_: SplitOrigin | None = None
    """The split it was fitted on; None where that is not known."""

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        # Those of the last fit; `set_params` may change `config` later.
        self._settings: Config = self.config

    @abstractmethod
    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The fitted tensors, and the facts that belong to them."""

    @abstractmethod
    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Load what `_state` returned."""

    def predict(self, graph: SensitiveGraph, ends: Tensor) -> NDArray[np.int64]:
        """Which pairs of rows (2, m) are predicted to be linked: 1, or 0."""
        threshold = self._fitted_threshold()
        return (self.score(graph, ends) > threshold).astype(np.int64)

    def save(self, path: Path | str) -> None:
        """Write the fitted model to the folder `path`: weights.safetensors and model.json."""
        about = {
            "task": LINKS,
            "method": self.name,
            "seed": self.seed,
            "threshold": self._fitted_threshold(),
            "config": self._settings.to_dict(),
            "groups": self.groups_,
            **({} if self.origin_ is None else vars(self.origin_)),
        }
        write_saved(Path(path), about, *self._state())

    @classmethod
    def load(cls, path: Path | str, *, device: str = "auto") -> Self:
        """A fitted model from the folder that `save` wrote."""
        return cls._of(read_saved(Path(path), LINKS), device)

    @classmethod
    def _of(cls, saved: Saved, device: str) -> Self:
        """The model that a folder holds."""
        about = from_json(About, saved.about)
        if about.method != cls.name:
            raise FileError(
                f"model folder {saved.folder}",
                f"a model of the method {about.method!r}",
                repr(cls.name),
                "load it with fairgear.links.load_link_model",
            )
        if not np.isfinite(about.threshold):
            raise saved.damaged()
        config = cls.config_type.from_dict(about.config)
        model = cls.from_config(config, seed=about.seed, device=device)
        model.groups_ = about.groups
        if about.split is not None and about.edges is not None:
            model.origin_ = SplitOrigin(about.split, about.edges)
        with restoring(saved.weights, saved.tensors, saved.facts, saved.about["config"]):
            model._restore(saved.weights, saved.tensors, saved.facts)
        model.threshold_ = about.threshold
        return model

    def _fitted_threshold(self) -> float:
        if self.threshold_ is None:
            raise NotFittedError(
                f"a {type(self).__name__}", "one without a fit", "a fitted one", "call fit(split)"
            )
        return self.threshold_


class CanonicalScorer(PairScorer):
    """Works in the order of ids, so that the order of rows changes nothing, to the bit.

    Unless edges have directions, a pair has the lower id first: both orders have one score.
    """

    @abstractmethod
    def score_pairs(self, ends: Tensor) -> Floats:
        """Scores (m,) of pairs of numbers (2, m)."""

    @abstractmethod
    def score_block(self, people: Tensor) -> Floats:
        """Scores (b, n) of some numbers with all, in a new array."""

    def pairs(self, ends: Tensor) -> Floats:
        """Scores (m,) of pairs of rows (2, m)."""
        numbers = self.graph.canonical.numbers[check_ends(ends, len(self.graph.x))]
        return self.score_pairs(numbers if self.graph.directed else numbers.sort(dim=0).values)

    def block(self, rows: Tensor) -> Floats:
        """Scores (b, n) of some rows with everybody; nobody is linked to themselves: −∞."""
        order, rows = self.graph.canonical, rows.cpu()
        scores = self.score_block(order.numbers[rows])
        if not order.sorted:
            scores = scores[:, order.numbers.numpy()]
        scores[np.arange(len(rows)), rows.numpy()] = -np.inf
        return scores


class LogitScorer(CanonicalScorer):
    """Scores are the probabilities of logits."""

    _logistic = True

    @abstractmethod
    def pair_logits(self, ends: Tensor) -> Tensor:
        """Of pairs of numbers (2, m): (m,)."""

    @abstractmethod
    def block_logits(self, people: Tensor) -> Tensor:
        """Of some numbers with all (b, n), in a new tensor."""

    @torch.no_grad()
    def score_pairs(self, ends: Tensor) -> Floats:
        """See the base class."""
        return self._scores(self.pair_logits(ends))

    @torch.no_grad()
    def score_block(self, people: Tensor) -> Floats:
        """See the base class."""
        return self._scores(self.block_logits(people))

    def ranking(self) -> PairScorer:
        """By logits: high probabilities round to 1."""
        found = copy(self)
        found._logistic = False
        return found

    def _scores(self, logits: Tensor) -> Floats:
        found: Floats = logits.cpu().double().numpy()
        return expit(found) if self._logistic else found


def load_link_model(path: Path | str, *, device: str = "auto") -> LinkMethod:
    """A fitted model of links, from the folder that its `save` wrote.

    Args:
        path: the folder. Whatever it names, no code is imported.
        device: "auto" (CUDA if available), "cpu" or "cuda".

    Example:
        >>> from fairgear.links import LINK_METHODS, load_link_model, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> LINK_METHODS["adamic-adar"]().fit(split).save("model")
        >>> load_link_model("model").name
        'adamic-adar'
    """
    saved = read_saved(Path(path), LINKS)
    kind = LINK_METHODS[str(saved.about["method"])]
    if not issubclass(kind, LinkMethod):
        what, got = f"model folder {path}", f"a model of the method {kind.name!r}"
        raise FileError(what, got, "one that fairgear saves", "load it as it was saved")
    return kind._of(saved, device)
