"""How likely a pair of the synthetic model is linked, in any world: the truth for models of links.

People are linked where t ≤ cos(Z_i, Z_j), with t the threshold less a·(how much s_i and s_j agree)
and, of arcs, less the pull of the second. Given parts of Z, the rest is Gaussian and its direction
is uniform, so the cosine of two unknown parts in h dimensions is 2B − 1 with B ~
Beta((h − 1)/2, (h − 1)/2), whatever their lengths, whose squares are χ² with h degrees. Lengths,
and what of the second pulls, are integrated by Gauss's rules.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import betainc, roots_genlaguerre, roots_hermitenorm
from torch import Tensor

from fairgear.causal import as_assignment
from fairgear.causal.synthetic.mechanism import SyntheticMechanism
from fairgear.causal.synthetic.pairs import pairs_of
from fairgear.causal.synthetic.settings import SyntheticSettings
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.links.pairs import check_ends
from fairgear.progress import bar

Floats = NDArray[np.float64]
# What may be known of a pair.
KNOWN = ("latent", "features", "attribute")
# Points of a rule for each unknown: of two lengths alone, and of these with a pull.
_POINTS, _WITH_PULL = 32, 20
# Values of the integrand at a time: 8 MiB.
_CELLS = 2**20
# Below it the distribution of the cosine has jumps or poles, which the rules do not follow.
_LEAST_HIDDEN = 4


def link_probability(
    graph: SensitiveGraph, ends: Tensor, sens: Tensor | int | None = None, *, given: str = "latent"
) -> Tensor:
    """The probability (m,) that pairs of the synthetic model are linked in a world.

    Args:
        graph: a graph of the synthetic model, with its latent variables.
        ends: pairs of rows (2, m); of arcs, from the first to the second.
        sens: of the world: everybody's attribute, or one value for all; the graph's own if not
            given. What is known of the two people stays as it is.
        given: what is known of the two people besides `sens`: "latent", all latent variables, with
            which the answer is 0 or 1; "features", those that their features show; "attribute",
            none. No model that sees the two people's features alone can be closer than "features".

    Example:
        >>> import torch
        >>> import fairgear as fg
        >>> from fairgear.links import link_probability
        >>> graph = fg.datasets.load("synthetic", n=300)
        >>> linked, others = graph.edge_index[:, :3], torch.tensor([[0, 1], [1, 2]])
        >>> link_probability(graph, linked).tolist()
        [1.0, 1.0, 1.0]
        >>> with_features = link_probability(graph, linked, given="features")
        >>> bool((with_features > link_probability(graph, linked, given="attribute")).all())
        True
        >>> tuple(link_probability(graph, others, sens=1, given="features").shape)
        (2,)
    """
    mechanism = graph.mechanism
    if not isinstance(mechanism, SyntheticMechanism) or graph.latent is None:
        allowed = "a graph sampled from the synthetic model"
        step = "load it with fairgear.datasets.load('synthetic')"
        raise GraphError("a graph with known links", "none with latent variables", allowed, step)
    ends = check_ends(ends, len(graph.x))
    values = (graph.sens if sens is None else as_assignment(graph, sens)).cpu()
    pairs = pairs_of(mechanism, graph.latent)
    if given == "latent":
        return pairs.joined(ends, values).double()
    agree = pairs.agreement(values[ends[0]], values[ends[1]]).double().numpy()
    settings = mechanism.settings
    least = settings.threshold - settings.a * agree
    if given == "attribute":
        return torch.from_numpy(_of_strangers(least, settings))
    if given != "features":
        raise ParameterError("given", given, ", ".join(KNOWN), f"use {KNOWN[1]}")
    return torch.from_numpy(_of_features(least, ends, mechanism, graph.latent.cpu()))


def _of_strangers(least: Floats, settings: SyntheticSettings) -> Floats:
    """Of two people of whom no latent variable is known; `least` before the pull."""
    if not settings.directed:
        return _exceeds(least, settings.d_z)
    # What pulls is a standard normal number, and the other's direction does not depend on it.
    at, weight = _normal(8 * _WITH_PULL)
    pulled = least[:, None] - settings.reach * np.tanh(at)
    found: Floats = _exceeds(pulled, settings.d_z) @ weight
    return found


def _of_features(
    least: Floats, ends: Tensor, mechanism: SyntheticMechanism, latent: Tensor
) -> Floats:
    """Of two people whose features show some latent variables."""
    settings = mechanism.settings
    hidden = settings.d_z - settings.d
    if settings.noise or hidden < _LEAST_HIDDEN:
        raise ParameterError(
            "links given features",
            f"noise of {settings.noise:g} and {hidden} hidden variables",
            f"no noise, and at least {_LEAST_HIDDEN} of them (d_z − d)",
            'use given="attribute" or "latent"',
        )
    seen = latent[:, mechanism.columns]
    one, other = seen[ends[0]].numpy(), seen[ends[1]].numpy()
    own, theirs, product = (one**2).sum(1), (other**2).sum(1), (one * other).sum(1)
    w = mechanism.w.numpy()
    shown = other @ w[mechanism.columns.numpy()]
    unseen = np.delete(w, mechanism.columns.numpy())
    found = np.empty(len(least))
    points = _Points(settings, float(np.sqrt((unseen**2).sum())))
    with bar("exact probabilities of links", total=len(least)) as progress:
        for part in np.array_split(np.arange(len(least)), 1 + len(least) * points.size // _CELLS):
            a, b, c, t, w_seen = (v[part, None] for v in (own, theirs, product, least, shown))
            if settings.directed:
                t = t - settings.reach * np.tanh((w_seen + points.pull) / np.sqrt((w**2).sum()))
            first, second = points.first, points.second
            cosine = t * np.sqrt((a + first) * (b + second)) - c
            found[part] = _exceeds(cosine / np.sqrt(first * second), hidden) @ points.weight
            progress.advance(len(part))
    return found


class _Points:
    """A rule for what is hidden: squared lengths of both parts, and what of the second pulls."""

    def __init__(self, settings: SyntheticSettings, pull: float) -> None:
        hidden = settings.d_z - settings.d
        if settings.directed:
            # The second part is one coordinate along the pull, and the others.
            rules = [_square(hidden, _WITH_PULL), _square(hidden - 1, _WITH_PULL)]
            rules.append(_normal(_WITH_PULL))
        else:
            rules = [_square(hidden, _POINTS), _square(hidden, _POINTS)]
        places = [one.ravel() for one in np.meshgrid(*(at for at, _ in rules), indexing="ij")]
        shares = np.meshgrid(*(weight for _, weight in rules), indexing="ij")
        self.weight = np.prod(shares, axis=0).ravel()
        self.first, self.second = places[0], places[1]
        if settings.directed:
            self.second, self.pull = places[1] + places[2] ** 2, pull * places[2]
        self.size = len(self.weight)


def _square(degrees: int, count: int) -> tuple[Floats, Floats]:
    """Points and weights of χ² with some degrees of freedom."""
    at, weight = roots_genlaguerre(count, degrees / 2 - 1)
    return 2 * at, weight / weight.sum()


def _normal(count: int) -> tuple[Floats, Floats]:
    """Points and weights of the standard normal distribution."""
    at, weight = roots_hermitenorm(count)
    return at, weight / weight.sum()


def _exceeds(least: Floats, d: int) -> Floats:
    """P(cos ≥ least) for the cosine of two vectors in d dimensions, one of uniform direction."""
    if d == 1:
        found: Floats = ((least <= -1).astype(np.float64) + (least <= 1)) / 2
        return found
    found = betainc((d - 1) / 2, (d - 1) / 2, np.clip((1 - least) / 2, 0, 1))
    return found
