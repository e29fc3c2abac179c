"""FairWalk: vectors of people from random walks that visit groups alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph
from fairgear.hashing import node_hash
from fairgear.links.base import LINK_METHODS
from fairgear.links.methods.base import LinkMethod
from fairgear.links.methods.nodes import WITH_NUMBERS, canonical_pairs
from fairgear.links.methods.regression import PairRegression, RegressionScorer
from fairgear.links.methods.walks import FairSteps, Keys, States, fair_walks, skip_gram
from fairgear.links.split import LinkSplit
from fairgear.methods.base import FitCheckpoints, check_sensitive, run_key
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.progress import bar
from fairgear.settings import Config, OneOf, Range
from fairgear.tensor_files import damaged
from fairgear.training import History, Task, seeded, train
from fairgear.training.checkpoints import load_module, module_tensors

# The share of the learning rate at the end.
_LAST = 0.05
# Contexts are drawn in proportion to how often they are visited to this power.
_POWER = 0.75


@dataclass(frozen=True)
class FairWalkConfig(Config):
    """How FairWalk walks and learns."""

    dim: Annotated[int, Range(1, 65536)] = 64
    """Width of the vectors."""
    walks: Annotated[int, Range(1, 10_000)] = 10
    """Walks from each person."""
    length: Annotated[int, Range(2, 10_000)] = 20
    """People on a walk."""
    window: Annotated[int, Range(1, 1000)] = 3
    """Steps on a walk up to which people are near each other."""
    negatives: Annotated[int, Range(1, 1000)] = 3
    """Others that are drawn for each pair of near ones."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.05
    """Of the ascent; it falls to a twentieth of this."""
    C: Annotated[float | None, Range(1e-8, 1e8)] = None
    """Of the regression on pairs, as in scikit-learn. [of 0.001, 0.01, 0.1, 1, 10 and 100 the one
    with the least loss on the validation pairs]"""
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"
    """The decision threshold: 0.5 (half), or the most accurate on the validation pairs."""

    def rate(self, number: int) -> float:
        """The learning rate of a round of walks."""
        done = number / max(1, self.walks - 1)
        return self.learning_rate * (1 - (1 - _LAST) * done)


class Contexts(nn.Module):
    """What is learned: contexts of the people of the fit, who are known by their ids."""

    ids: Tensor
    contexts: Tensor
    noise: Tensor

    def __init__(self, people: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("ids", torch.zeros(people, dtype=torch.int64))
        self.register_buffer("contexts", torch.zeros(people, dim))
        self.register_buffer("noise", torch.zeros(people, dtype=torch.float64))

    def rows(self, ids: Tensor) -> NDArray[np.int64]:
        """The row of each person's context; −1 for those who were not there."""
        known = self.ids.numpy()
        place = np.searchsorted(known, ids.numpy()).clip(0, len(known) - 1)
        return np.where(known[place] == ids.numpy(), place, -1)


class Walker:
    """Rounds of walks on a graph: in each, one from everybody, in the order of their ids."""

    def __init__(self, graph: SensitiveGraph, config: FairWalkConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.ids = graph.node_id.cpu()[graph.canonical.rows]
        self.steps = FairSteps.of(graph)

    def walks(self, number: int) -> Keys:
        """Those of one round: whoever keeps their neighbours takes the same steps in any graph."""
        steps = self.steps
        given = (steps.begin, steps.groups, steps.to, steps.reach, self._bits(f"walk {number}"))
        return fair_walks(*given, self.config.length)

    def learn(self, number: int, vectors: Tensor, known: Contexts, *, learns: bool) -> float:
        """A round: vectors (n, dim) are changed in place, and so are contexts if told."""
        config = self.config
        return skip_gram(
            self.walks(number),
            self._bits(f"others {number}"),
            config.window,
            config.negatives,
            config.rate(number),
            vectors.numpy(),
            known.contexts.numpy(),
            known.rows(self.ids),
            known.noise.numpy(),
            learns,
        )

    def _bits(self, stream: str) -> States:
        return node_hash(self.ids.numpy(), self.seed, stream)


class WalkTask(Task):
    """Skip-gram with negative sampling: a round of walks is a step."""

    def __init__(self, walker: Walker, known: Contexts) -> None:
        people, dim = known.contexts.shape
        self.walker, self.known = walker, known
        self.vectors = nn.ParameterDict()
        drawn = (torch.rand(people, dim) - 0.5) / dim
        self.vectors["all"] = nn.Parameter(drawn, requires_grad=False)
        self.modules = {"known": known, "vectors": self.vectors}
        self.optimizers = {}

    def step(self, number: int) -> dict[str, Tensor]:
        """One walk from everybody."""
        loss = self.walker.learn(number, self.vectors["all"].data, self.known, learns=True)
        return {"loss": torch.tensor(loss)}


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
        return self

    def scorer(self, graph: SensitiveGraph) -> RegressionScorer:
        """Learns everybody's vectors in a graph."""
        self._fitted_threshold()
        x = self._vectors(graph)[graph.canonical.numbers]
        return RegressionScorer(graph, x, self._regression)

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
