"""FairWalk: vectors of people from random walks that visit groups alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, PairScorer
from fairgear.links.methods.base import LinkMethod
from fairgear.links.methods.nodes import WITH_NUMBERS, canonical_pairs
from fairgear.links.methods.regression import PairRegression, RegressionScorer
from fairgear.links.methods.settings import FairWalkConfig
from fairgear.links.methods.walker import Contexts, Walker, WalkTask
from fairgear.links.origin import SplitOrigin
from fairgear.links.split import LinkSplit
from fairgear.methods.fit_checkpoints import FitCheckpoints, run_key
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.methods.trainable import check_sensitive
from fairgear.progress import bar
from fairgear.tensor_files import damaged
from fairgear.training import History, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors

# Contexts are drawn in proportion to how often they are visited to this power.
_POWER = 0.75


class FairWalk(LinkMethod):
    """FairWalk (Rahman, Surma, Backes and Zhang, IJCAI 2019), and a regression on pairs.

    A step of a walk draws a group among the neighbours, all groups alike, then a neighbour of it.
    Who is near on walks is learned by skip-gram with negative sampling. A pair's features are the
    products of the two vectors, element by element.

    In any graph, that of the fit included, a person's vector is learned from walks in that graph
    against the contexts of the fit. So vectors of several graphs can be compared.

    After `fit`: `C_` (of the regression) and `history_` (the loss of each round of walks).

    Example:
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> model = LINK_METHODS["fairwalk"](walks=2, dim=8).fit(split)
        >>> model.embed(split.input).shape
        (160, 8)
    """

    name = "fairwalk"
    config_type = FairWalkConfig
    config: FairWalkConfig
    _settings: FairWalkConfig
    C_: float | None = None
    directed: bool = False
    _known: Contexts
    _regression: PairRegression

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}

    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        """Learn contexts from walks on the graph, and the regression from the training pairs."""
        graph = split.input
        kinds = {"several_groups": True, "number_of_s": False}
        check_sensitive(graph, self.name, **kinds, able=WITH_NUMBERS)
        self.threshold_, self._settings = None, self.config
        self.groups_, self.directed = graph.num_groups, graph.directed
        train_pairs, val = (canonical_pairs(graph, part) for part in (split.train, split.val))
        files = self._walk(graph, checkpoint)
        x = self._vectors(graph)
        self._regression = self._new_regression()
        self.C_ = self._regression.fit(x, train_pairs, val, self._settings.C)
        self.threshold_ = HALF
        if self._settings.threshold == "validation":
            scores = self.score(graph, split.val.ends)
            self.threshold_ = most_accurate(split.val.linked.cpu().numpy(), scores)
        files.remove()
        self.origin_ = SplitOrigin.of(split)
        return self

    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        """Learns everybody's vectors in a graph."""
        self._fitted_threshold()
        return RegressionScorer(graph, self._vectors(graph), self._regression)

    def embed(self, graph: SensitiveGraph) -> NDArray[np.float32]:
        """Vectors (n, dim)."""
        self._fitted_threshold()
        found: NDArray[np.float32] = self._vectors(graph)[graph.canonical.numbers].float().numpy()
        return found

    def _walk(self, graph: SensitiveGraph, checkpoint: Path | None) -> FitCheckpoints:
        """Learn the contexts."""
        config = self._settings
        walker = Walker(graph, config, self.seed)
        self._known = known = Contexts(len(graph.x), config.dim)
        known.ids.copy_(walker.ids)
        visits = np.bincount(walker.walks(0).ravel() + 1, minlength=len(graph.x) + 1)[1:]
        shares = np.cumsum(visits.astype(np.float64) ** _POWER)
        known.noise.copy_(torch.from_numpy(shares / shares[-1]))
        files = FitCheckpoints(checkpoint, run_key(self, graph))
        with seeded(self.seed, "task"):
            task = WalkTask(walker, known)
        found = train(
            task,
            steps=config.walks,
            seed=self.seed,
            description="walking",
            checkpoint=files.checkpoint("walks"),
        )
        self.history_ = {"walks": found}
        return files

    def _vectors(self, graph: SensitiveGraph) -> Tensor:
        """Of everybody in a graph (n, dim), float64, in canonical order."""
        walker = Walker(graph, self._settings, self.seed)
        found = torch.zeros(len(graph.x), self._settings.dim)
        with bar("walking", total=self._settings.walks) as shown:
            for number in range(self._settings.walks):
                walker.learn(number, found, self._known, learns=False)
                shown.advance()
        return found.double()

    def _new_regression(self) -> PairRegression:
        operators = ("product", "first", "second") if self.directed else ("product",)
        return PairRegression(operators, self._settings.dim)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("known", self._known)
        tensors |= module_tensors("regression", self._regression)
        history = {name: history.as_dict() for name, history in self.history_.items()}
        facts = {"people": len(self._known.ids), "C": self.C_, "directed": self.directed}
        return tensors, facts | {"history": history}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        people, known = facts.get("people"), (facts.get("C"), facts.get("directed"))
        if not isinstance(people, int) or list(map(type, known)) != [float, bool]:
            raise damaged(path)
        self.C_, self.directed = facts["C"], facts["directed"]
        self._known = Contexts(people, self._settings.dim)
        load_module(path, "known", self._known, tensors)
        self._regression = self._new_regression()
        load_module(path, "regression", self._regression, tensors)
        self.history_ = {name: History(**rows) for name, rows in facts["history"].items()}


LINK_METHODS.add(FairWalk.name, FairWalk)
