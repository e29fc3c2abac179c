"""The parameters of the synthetic model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Annotated

from fairgear.errors import ParameterError
from fairgear.graph import Attribute, Attributes
from fairgear.graph.targets import MOST_CLASSES
from fairgear.settings import Config, Range


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
