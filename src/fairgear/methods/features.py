"""From a graph's features to what classifiers see: scaled, and without a direction."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.training import seeded

# In larger graphs, a sample of this many people determines scaling and erasing,
STATISTICS = 2**18
# unless it has fewer people of a group than this.
FEWEST = 1000


class FeatureScaler(nn.Module):
    """Features without the sensitive column, at zero mean and unit variance as learned in `fit`.

    A module, so that its statistics are saved and moved with the weights.

    Args:
        width: columns of x, the sensitive one included.
        sens_column: which of them is sensitive, if any.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__()
        self.width = width
        self.sens_column = sens_column
        own = width - (sens_column is not None)
        self.register_buffer("mean", torch.zeros(own, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(own, dtype=torch.float64))

    def fit(self, graph: SensitiveGraph, order: Tensor | None = None) -> FeatureScaler:
        """Learn mean and scale from all nodes, or those in `order`, summed in that order.

        Labels play no part.
        """
        self.check(graph)
        x = self.columns(graph.x if order is None else graph.x[order.to(graph.x.device)])
        self.mean.copy_(x.mean(dim=0))
        self.scale.copy_(spread_of(x))
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Scaled features (n, d), float32."""
        self.check(graph)
        return self.scaled(graph.x)

    def scaled(self, x: Tensor) -> Tensor:
        """Rows of a graph's features (…, d), scaled; float32."""
        return ((self.columns(x) - self.mean) / self.scale).float()

    def columns(self, x: Tensor) -> Tensor:
        """Rows of a graph's features before scaling, float64, without the sensitive column."""
        x = x.to(self.mean.device, torch.float64)
        if self.sens_column is not None:
            x = torch.cat([x[..., : self.sens_column], x[..., self.sens_column + 1 :]], dim=-1)
        return x

    def check(self, graph: SensitiveGraph) -> None:
        """Refuse a graph whose columns are not those of the fit."""
        if (graph.x.shape[1], graph.sens_column) != (self.width, self.sens_column):
            raise GraphError(
                "features of a graph for a fitted model",
                f"{graph.x.shape[1]} columns, sens_column {graph.sens_column}",
                f"{self.width} columns, sens_column {self.sens_column}",
                "pass a graph with the columns that the model was fitted on",
            )


class Erasure(nn.Module):
    """x − v (share·(u·x) + (1 − share)·s): removes the difference v between the groups.

    With a share of 1, v is projected out: neither s nor a move along v changes the result. u is
    proportional to Σ⁻¹v with u·v = 1, Σ the covariance within groups: of all projections along v
    this one keeps the most information about everything else. With a share of 0, everybody's
    features are moved to group 0, and what v says within a group stays. For any share, the result
    is unchanged if s and the features move together, by 1 and v.
    """

    v: Tensor
    u: Tensor

    def __init__(self, width: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("v", torch.zeros(width))
        self.register_buffer("u", torch.zeros(width))

    def fit(self, x: Tensor, sens: Tensor, v: Tensor | None = None) -> Erasure:
        """Learn u from scaled features and groups; v is the difference of means if not given."""
        x = x.double()
        means = [x[sens == s].mean(dim=0) for s in (0, 1)]
        v = means[1] - means[0] if v is None else v.double()
        centred = torch.cat([x[sens == s] - means[s] for s in (0, 1)])
        covariance = centred.T @ centred / len(centred)
        # A small ridge, since binary columns that sum to a constant make Σ singular.
        ridge = 1e-3 * torch.eye(len(v), dtype=v.dtype, device=v.device)
        u = torch.linalg.solve(covariance + ridge, v)
        reach = float(u @ v)
        if reach > 1e-12:
            self.v.copy_(v)
            self.u.copy_(u / reach)
        return self

    def forward(self, x: Tensor, sens: Tensor) -> Tensor:
        """Features (…, d) of people whose groups are `sens` (…)."""
        along = self.share * (x @ self.u) + (1 - self.share) * sens.to(x.dtype)
        return x - along[..., None] * self.v


def spread_of(x: Tensor, least: Tensor | float = 1e-6) -> Tensor:
    """Standard deviations; 1 for constant columns, whose deviation is only rounding error."""
    deviation = x.std(dim=0, correction=0)
    return torch.where(deviation > least, deviation, torch.ones_like(deviation))


def statistics_sample(order: Tensor, sens: Tensor) -> Tensor:
    """All people in their order, or a random sample of a large graph."""
    if len(order) <= STATISTICS:
        return order
    with seeded(0, "statistics"):
        drawn = torch.randperm(len(order))[:STATISTICS]
    sample = order[drawn.sort().values]
    if sens.is_floating_point():
        return sample
    groups = max(2, int(sens.max()) + 1)
    if int(torch.bincount(sens[sample], minlength=groups).min()) < FEWEST:
        return order
    return sample
