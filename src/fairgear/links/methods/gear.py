"""Gear for links: who is predicted to be linked is alike under a family of causal models."""

from __future__ import annotations

from collections.abc import Sequence

from fairgear.links.base import LINK_METHODS
from fairgear.links.methods.network import LinkNetwork
from fairgear.links.methods.nodes import PairGear
from fairgear.links.methods.settings import LinkGearConfig
from fairgear.settings import settings_of


class LinkGear(LinkNetwork):
    """A graph network whose predicted links are alike under a family of causal models.

    People are moved and chosen as `fairgear.Gear` does it, without labels. What stays alike is the
    answer for each training pair, and for as many others of the same people.

    After `fit`:

    - `threshold_`: scores above it predict a link.
    - `history_`: loss terms and validation over time, of `network`.
    - `trained_for_`: the causal models that it was trained for.

    Args:
        causal: what you believe: "family" for nothing in particular (shift, quantile and
            gaussian), names of feature models joined by "+" or in a list, or the file of a causal
            diagram. Maps are learned from the graph's training people where it has masks, else
            from everybody.
        head: how two representations give a logit: dot, bilinear or mlp.
        shared_neighbours: whether the head also reads how many neighbours two people share, and how
            many they have.
        encoder: mlp reads no edges: the graph then counts by shared neighbours alone. graphsage,
            gcn and gin read their neighbours' features.
        layers: of the encoder: how many hops it sees.
        dim: dimension of the representations.
        dropout: in training.
        fairness_weight: weight λ of the inconsistency; 0 for none.
        views: whether people are seen as the family moves them, too: fewer answers change where
            the family is right.
        edge_noise: where people are moved, the encoder reads the graph without up to this share of
            the edges.
        r2_limit: R² between predicted links and s around both ends that is allowed on the
            validation pairs: "labels" for that of the links, a number for less, 1 for any.
        learning_rate: the highest, of Adam.
        weight_decay: μ, weight of the squared norm of the parameters.
        steps: training steps.
        batch_size: pairs a step; 0 for the whole graph at once. None for the whole graph up to
            200,000 people, else 1,000.
        fanout: with batches, in training: neighbours of a person to sample; 0 for all of them.
        threshold: the most accurate on the validation pairs ("validation"), or 0.5 ("half").
        seed: of the initialisation and of every random draw in training.
        device: "auto" (CUDA if available), "cpu" or "cuda".

    Example:
        >>> from fairgear.links import LinkGear, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> gear = LinkGear(steps=20, dim=8).fit(split)
        >>> gear.score(split.input, split.test.ends).shape
        (138,)
    """

    name = "gear"
    config_type = LinkGearConfig
    config: LinkGearConfig
    node_type = PairGear

    def __init__(
        self,
        *,
        causal: str | Sequence[str] = "family",
        head: str = "dot",
        shared_neighbours: bool = True,
        encoder: str = "mlp",
        layers: int = 2,
        dim: int = 64,
        dropout: float = 0.2,
        fairness_weight: float = 5.0,
        views: bool = False,
        edge_noise: float = 0.5,
        r2_limit: float | str = "labels",
        learning_rate: float = 0.01,
        weight_decay: float = 1e-5,
        steps: int = 300,
        batch_size: int | None = None,
        fanout: int = 10,
        threshold: str = "validation",
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        causal = causal if isinstance(causal, str) else "+".join(causal)
        given = locals()
        settings = {name: given[name] for name in settings_of(LinkGearConfig)}
        super().__init__(seed=seed, device=device, **settings)

    @property
    def trained_for_(self) -> tuple[str, ...]:
        """See the class."""
        return tuple(self._node.trained_for_) if self.threshold_ is not None else ()


LINK_METHODS.add(LinkGear.name, LinkGear)
