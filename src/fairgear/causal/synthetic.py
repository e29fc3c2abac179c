"""The synthetic causal model of the paper: it samples graphs and knows their counterfactuals.

S_i ~ Bernoulli(p),  Z_i ~ N(0, I),  X_i = Z_i[columns] + S_i v
A_ij = 1 where cos(Z_i, Z_j) + a·1[S_i = S_j] ≥ threshold
Y_i = 1 where w·Z_i + w_s · mean of S over i and its neighbours > the factual mean of that score

The label can also be one of several `classes`, of about the same size: how many of the factual
quantiles of that score it exceeds; or, with `number`, the score itself.

Three settings, 0 in the paper, make graphs whose neighbours matter:

noise   X_i sees U_i = Z_i[columns] + noise · E_i in place of Z_i[columns], with E_i ~ N(0, I) kept
shape   where S_i = 1, stretch · (U_i + skew · √(1 + U_i²)) in place of U_i, column by column
w_n     adds w_n · mean of w·Z over i and its neighbours to the score of Y_i

With `groups` m above 2, S_i is uniform on 0 to m − 1, X_i adds v_S with a direction v_s for each
group but the first, and the label takes S/(m − 1) where it takes S. With `second_groups` k above 1
there is a second attribute T, uniform on 0 to k − 1: X_i adds v_S + u_T, the label takes
S/(m − 1) + T/(k − 1), and edges a·(the share of the two attributes that agree). `graph.sens` is
S·k + T.

With `continuous`, S_i is a number, uniform on 0 to 1: edges take a·max(0, 1 − |S_i − S_j|) where
they take a·1[S_i = S_j], and features change their shape in proportion to S. Where S is 0 or 1,
these are the equations of two groups.

Two more give edges directions and weights; means over neighbours are then over those to whom i
points, by their weights (`closed_neighborhood_mean`):

directed  an arc from i to j is where cos(Z_i, Z_j) + a·1[S_i = S_j] + reach·tanh(w·Z_j / ‖w‖)
          ≥ threshold: people point to those who score high
weighted  an edge has the weight 2^(10·(the left side less the threshold)), in steps of 2⁻⁸
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, CausalModel
from fairgear.causal.interventions import as_assignment
from fairgear.causal.local import LocalWorld, Snapshot, changing
from fairgear.causal.surroundings import Surroundings
from fairgear.causal.synthetic_pairs import SyntheticPairs
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import Attribute, Attributes, SensitiveGraph, closed_neighborhood_mean
from fairgear.graph.targets import MOST_CLASSES, known_labels
from fairgear.settings import Config, Range, check_seed

# Neighbours' scores in steps of this: their sums are exact, so the same in any order.
_STEP = 2.0**-20


@dataclass(frozen=True)
class SyntheticSettings(Config):
    """The parameters of the structural equations, with the paper's values.

    Attributes:
        n: people.
        p: the share with s = 1.
        d_z, d: latent variables, and how many of them are seen as features.
        a: how much nearer people of the same group, or of the same number, are.
        w_s: the weight of the neighbourhood's s in the label.
        threshold: of the cosine, from which people are joined.
        w_n: the weight of the neighbourhood's latent scores in the label.
        noise: the standard deviation of what features add to the latent variables.
        shape: how much the groups differ in spread and skewness.
        groups: how many there are; with more than two, `p` says nothing.
        directed: whether edges are arcs, which need not be returned.
        weighted: whether edges have weights.
        reach: how much nearer those who score high are, where edges are arcs.
        classes: of the label.
        number: whether the label is a number, the score itself.
        continuous: whether s is a number, uniform on 0 to 1; `p` then says nothing.
        second_groups: values of a second attribute, which makes groups with the first; 1 is none.

    Example:
        >>> from fairgear.causal import SyntheticSettings, sample
        >>> graph = sample(SyntheticSettings(n=300, groups=3), seed=0)
        >>> graph.num_nodes, graph.num_groups
        (300, 3)
    """

    n: Annotated[int, Range(1, 2**40)] = 2000
    p: Annotated[float, Range(0, 1)] = 0.4
    d_z: Annotated[int, Range(1, 2**20)] = 50
    d: Annotated[int, Range(1, 2**20)] = 25
    a: Annotated[float, Range(-1, 1)] = 0.01
    w_s: Annotated[float, Range(-1e6, 1e6)] = 0.5
    threshold: Annotated[float, Range(-1, 2)] = 0.4
    w_n: Annotated[float, Range(-1e6, 1e6)] = 0.0
    noise: Annotated[float, Range(0, 1e6)] = 0.0
    shape: Annotated[float, Range(0, 10)] = 0.0
    groups: Annotated[int, Range(2, 1000)] = 2
    directed: bool = False
    weighted: bool = False
    reach: Annotated[float, Range(0, 1)] = 0.1
    classes: Annotated[int, Range(2, MOST_CLASSES)] = 2
    number: bool = False
    continuous: bool = False
    second_groups: Annotated[int, Range(1, 100)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.d > self.d_z:
            raise ParameterError("setting d", self.d, f"at most d_z, {self.d_z}", "change d or d_z")
        if self.continuous and self.groups * self.second_groups > 2:
            got, allowed = "groups of a number", "groups=2 and second_groups=1"
            raise ParameterError("setting continuous", got, allowed, "leave the groups out")

    @property
    def attributes(self) -> Attributes | None:
        """Of the sampled graph; None for two groups."""
        if self.continuous:
            return Attributes.number("s")
        first, second = (tuple(map(str, range(m))) for m in (self.groups, self.second_groups))
        if self.second_groups == 1:
            return None if self.groups == 2 else Attributes.single("s", first)
        groups = tuple(product(range(self.groups), range(self.second_groups)))
        return Attributes((Attribute("s", first), Attribute("t", second)), groups)


@dataclass(frozen=True, eq=False)
class SyntheticMechanism:
    """What a sampled graph keeps so that its counterfactuals can be computed exactly.

    `graph.latent` holds Z and, where features are noisy, E beside it.

    Example:
        >>> from fairgear.causal import sample
        >>> mechanism = sample(seed=0).mechanism
        >>> mechanism.settings.n, tuple(mechanism.v.shape)
        (2000, (25,))
    """

    settings: SyntheticSettings
    v: Tensor = field(repr=False)
    w: Tensor = field(repr=False)
    columns: Tensor = field(repr=False)
    stretch: Tensor = field(repr=False)
    skew: Tensor = field(repr=False)
    label_threshold: float
    cuts: Tensor | None = field(default=None, repr=False)
    """Of the scores between several classes."""

    def labels(self, scores: Tensor) -> Tensor:
        """Classes from the scores, or the scores themselves."""
        if self.settings.number:
            return scores
        if self.cuts is None:
            return (scores > self.label_threshold).long()
        return (scores[:, None] > self.cuts.to(scores.device)).sum(dim=1)

    def known_scores(self, scores: Tensor) -> SyntheticMechanism:
        """The same equations with the thresholds of the factual scores."""
        parts = torch.arange(1, self.settings.classes, dtype=torch.float64) / self.settings.classes
        cuts = torch.quantile(scores.cpu(), parts) if self.settings.classes > 2 else None
        return replace(self, label_threshold=float(scores.mean()), cuts=cuts)

    def scores(
        self, latent: Tensor, sens: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """The label's score before it is compared with the threshold."""
        own = self.own_scores(latent)
        parts = self.spread(own, sens)
        around = (closed_neighborhood_mean(part, edge_index, edge_weight) for part in parts)
        return self.total(own, *around)

    def total(self, own: Tensor, sens_around: Tensor, own_around: Tensor) -> Tensor:
        """The score from a person's own part and the means of `spread` around them."""
        steps = (self.settings.groups - 1) * max(1, self.settings.second_groups - 1)
        weight = self.settings.w_s / steps
        return own + weight * sens_around + self.settings.w_n * own_around

    def spread(self, own: Tensor, sens: Tensor) -> tuple[Tensor, Tensor]:
        """What of a person enters the scores of their neighbours; sums are exact."""
        return self._height(sens), (own / _STEP).round() * _STEP

    def _height(self, sens: Tensor) -> Tensor:
        """What the label takes of s, in steps whose sums are exact."""
        if self.settings.continuous:
            return (sens / _STEP).round() * _STEP
        if self.settings.second_groups == 1:
            return sens.double()
        first, second = self.settings.groups - 1, self.settings.second_groups - 1
        return (sens // (second + 1) * second + sens % (second + 1) * first).double()

    def own_scores(self, latent: Tensor) -> Tensor:
        """The part of the score that is a person's own."""
        # Summed row by row, not by a matrix product: a row's sum must not depend on its place.
        return (self.traits(latent) * self.w.to(latent.device)).sum(dim=1)

    def traits(self, latent: Tensor) -> Tensor:
        """Z, without the noise of the features."""
        return latent[:, : self.settings.d_z]

    def features(self, latent: Tensor, sens: Tensor) -> Tensor:
        """The sensitive column, then d columns: what is seen of Z, as the group's shape has it."""
        v, columns = self.v.to(latent.device), self.columns.to(latent.device)
        one = sens.to(latent.dtype)[:, None]
        moved = one * v if v.dim() == 1 else v[sens]
        seen = latent[:, columns]
        if self.settings.noise:
            seen = seen + self.settings.noise * latent[:, self.settings.d_z :]
        if self.settings.shape:
            # Sums, products and roots alone: they round the same wherever a row stands.
            skew, stretch = self.skew.to(latent.device), self.stretch.to(latent.device)
            bent = stretch * (seen + skew * (1 + seen * seen).sqrt())
            if self.settings.continuous:
                seen = seen + one * (bent - seen)
            else:
                seen = torch.where(one >= 1, bent, seen)
        return torch.cat([one, seen + moved], dim=1).float()


def sample(
    settings: SyntheticSettings | None = None, *, seed: int = 0, name: str = "synthetic"
) -> SensitiveGraph:
    """A graph of the synthetic model, with its exogenous variables; no masks yet.

    Example:
        >>> from fairgear.causal import SyntheticSettings, sample
        >>> graph = sample(SyntheticSettings(n=100), seed=1)
        >>> graph.num_nodes, tuple(graph.latent.shape)
        (100, (100, 50))
    """
    settings = SyntheticSettings() if settings is None else settings
    rng = np.random.default_rng(check_seed("seed of the graph", seed))
    columns = torch.from_numpy(np.sort(rng.choice(settings.d_z, settings.d, replace=False)))
    v = torch.from_numpy(rng.standard_normal(settings.d))
    w = torch.from_numpy(rng.standard_normal(settings.d_z))
    uniform = rng.random(settings.n)
    sens = torch.from_numpy((uniform < settings.p).astype(np.int64))
    if settings.continuous:
        # In steps that a float32 column holds exactly.
        sens = torch.from_numpy(np.floor(uniform / _STEP) * _STEP)
    latent = torch.from_numpy(rng.standard_normal((settings.n, settings.d_z)))
    # Drawn last, so that everything else is the paper's whatever these are.
    stretch, skew = settings.shape * torch.from_numpy(rng.standard_normal((2, settings.d)))
    if settings.noise:
        noise = torch.from_numpy(rng.standard_normal((settings.n, settings.d)))
        latent = torch.cat([latent, noise], dim=1)
    if settings.groups > 2:
        sens = torch.from_numpy(rng.integers(settings.groups, size=settings.n))
        more = torch.from_numpy(rng.standard_normal((settings.groups - 2, settings.d)))
        v = torch.cat([torch.zeros_like(v)[None], v[None], more])
    if settings.second_groups > 1:
        second = torch.from_numpy(rng.integers(settings.second_groups, size=settings.n))
        u = torch.from_numpy(rng.standard_normal((settings.second_groups, settings.d)))
        u[0] = 0
        v = v if v.dim() == 2 else torch.stack([torch.zeros_like(v), v])
        sens = sens * settings.second_groups + second
        v = (v[:, None] + u).flatten(end_dim=1)
    draft = SyntheticMechanism(settings, v, w, columns, stretch.exp(), skew.tanh(), 0.0)
    edges = pairs_of(draft, latent).fields(sens)
    edge_index, edge_weight = edges["edge_index"], edges.get("edge_weight")
    scores = draft.scores(latent, sens, edge_index, edge_weight)
    mechanism = draft.known_scores(scores)
    several = settings.classes > 2 and not settings.number
    names: dict[str, Any] = {}
    if several:
        names["label_names"] = tuple(map(str, range(settings.classes)))
    return SensitiveGraph(
        mechanism.features(latent, sens),
        edge_index,
        mechanism.labels(scores),
        sens,
        sens_column=0,
        attributes=settings.attributes,
        name=name,
        feature_names=["s", *(f"z{int(c)}" for c in columns)],
        latent=latent,
        mechanism=mechanism,
        directed=settings.directed,
        edge_weight=edge_weight,
        **names,
    )


class SyntheticCausalModel(CausalModel):
    """The exact counterfactuals of a graph sampled from the synthetic model.

    The pairs that can be edges in some world are found once and serve every world.

    Example:
        >>> import fairgear as fg
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> model = fg.causal.for_graph(graph)
        >>> model.name, model.exact
        ('synthetic', True)
        >>> same = model.counterfactual(graph, graph.sens)
        >>> bool((same.x == graph.x).all())
        True
    """

    name = "synthetic"
    exact = True

    _mechanism: SyntheticMechanism
    _pairs: SyntheticPairs
    _latent: Tensor
    _local: tuple[Snapshot, Tensor] | None = None

    def _fit(self, graph: SensitiveGraph) -> None:
        if not isinstance(graph.mechanism, SyntheticMechanism) or graph.latent is None:
            raise GraphError(
                "a graph for the synthetic causal model",
                "a graph without its exogenous variables",
                "a graph sampled from the synthetic model",
                "load it with fairgear.datasets.load('synthetic')",
            )
        self._mechanism = graph.mechanism
        self._pairs = pairs_of(graph.mechanism, graph.latent)
        self._latent = graph.latent
        self._local = None
        # Features or edges edited after sampling have no known counterfactual.
        same_x = torch.equal(self._mechanism.features(self._latent, graph.sens), graph.x)
        if not same_x or not self._pairs.made(graph):
            raise GraphError(
                "a graph for the synthetic causal model",
                f"{'edges' if same_x else 'features'} that differ from its equations",
                "a sampled graph as it was sampled",
                "scale features inside the model, or drop the mechanism "
                "(graph.replace(mechanism=None)) and fit a causal model",
            )

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Features, edges and labels recomputed; the label's threshold stays factual.

        The model is deterministic given its exogenous variables, so `seed` changes nothing. A
        label that was edited or hidden in `graph` stays so unless the attribute changes it.
        """
        if not hasattr(self, "_latent"):
            # Loaded from a file: the graph carries all that the model needs.
            self._fit(graph)
        if graph.latent is None or not torch.equal(graph.latent, self._latent):
            raise GraphError(
                "a graph for this causal model",
                "other nodes, or nodes in another order",
                "the graph it was made for, or a counterfactual of it",
                "call fairgear.causal.for_graph(graph) again",
            )
        sens = as_assignment(graph, sens)
        edges = self._pairs.fields(sens)
        before = self._labels(graph.sens, graph.edge_index, graph.edge_weight)
        after = self._labels(sens, edges["edge_index"], edges.get("edge_weight"))
        moved = (before != after) & known_labels(graph.y)
        return graph.replace(
            x=self._mechanism.features(self._latent, sens),
            **edges,
            y=torch.where(moved, after, graph.y),
            sens=sens,
        )

    def local(
        self, graph: SensitiveGraph, rows: Tensor, sens: Tensor, *, seed: int = 0
    ) -> LocalWorld:
        """The few rows moved, their pairs compared again, and the labels of those around them."""
        if not hasattr(self, "_latent"):
            self._fit(graph)
        if not graph.plain:
            # Labels read those to whom one points, and surroundings are those who point.
            return super().local(graph, rows, sens, seed=seed)
        if self._local is None or not self._local[0].holds(graph):
            same = graph.latent is not None and torch.equal(graph.latent, self._latent)
            if not same or not torch.equal(self._pairs.edges(graph.sens), graph.edge_index):
                return super().local(graph, rows, sens, seed=seed)
            own = self._mechanism.own_scores(self._latent).cpu()
            self._local = (Snapshot(graph), own)
        found, values = changing(graph, rows, sens)
        people, after = torch.from_numpy(found), torch.from_numpy(values)
        removed, added = self._pairs.changes(people, after, graph.sens.cpu())
        x = self._mechanism.features(self._latent.cpu()[people], after)
        world = LocalWorld(graph, people, after, x, removed, added)
        if not len(people):
            return world
        # Labels follow the attributes around a person: of those who are or were linked.
        still = LocalWorld.unchanged(graph)
        near = torch.cat([Surroundings.of([one], [people], 1).rows for one in (still, world)])
        near = torch.unique(near)
        before, y = (self._labels_of(one, near, self._local[1]) for one in (still, world))
        moved = (before != y) & known_labels(graph.y[near.to(graph.y.device)].cpu())
        return replace(world, labelled=near[moved], y=y[moved])

    def _labels_of(self, world: LocalWorld, rows: Tensor, own: Tensor) -> Tensor:
        """The labels of some rows; `own` is everybody's part of the score."""
        around = Surroundings.of([world], [rows], 1)
        other, person = torch.from_numpy(around.edges)
        closed, at = torch.from_numpy(around.degree) + 1, torch.from_numpy(around.targets)
        parts = self._mechanism.spread(own[around.rows], around.sens)
        means = ((part.index_add(0, person, part[other]) / closed)[at] for part in parts)
        return self._mechanism.labels(self._mechanism.total(own[rows], *means))

    def _labels(self, sens: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        scores = self._mechanism.scores(self._latent, sens, edge_index, edge_weight)
        return self._mechanism.labels(scores)


def pairs_of(mechanism: SyntheticMechanism, latent: Tensor) -> SyntheticPairs:
    """The pairs of a sampled graph."""
    w = mechanism.w.to(latent.device)
    # Steps of 2⁻²⁰: tanh may round otherwise on another machine, or at another place of a row.
    scaled = torch.tanh(mechanism.own_scores(latent) / w.square().sum().sqrt())
    pull = mechanism.settings.reach * (scaled / _STEP).round() * _STEP
    return SyntheticPairs(mechanism.traits(latent), mechanism.settings, pull)


CAUSAL_MODELS.add("synthetic", SyntheticCausalModel)
