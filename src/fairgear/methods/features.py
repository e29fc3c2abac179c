"""From a graph's features to what classifiers see: scaled, and without what s says of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.nn.sens_code import SensCode
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
    """x − (share·(x U) + (1 − share)·φ(s)) Vᵀ: removes what s says of the mean of x.

    V (d, m) are the slopes of x on φ(s): the differences v between the groups' means, or the slope
    on a number. With a share of 1, they are projected out: neither s nor a move along V changes
    the result. U = Σ⁻¹V(VᵀΣ⁻¹V)⁺, Σ the covariance of what φ(s) leaves of x: of all projections
    along V this one keeps the most information about everything else. With a share of 0,
    everybody's features are moved to group 0, and what V says within a group stays. For any share,
    the result is unchanged if s and the features move together, by φ(s') − φ(s) and along V.

    Args:
        width: of x.
        share: see above.
        groups: how many; 0 where s is a number.
    """

    v: Tensor
    u: Tensor

    def __init__(self, width: int, share: float, groups: int = 2) -> None:
        super().__init__()
        self.share = share
        self.code = SensCode(groups)
        shape = (width,) if self.code.width == 1 else (width, self.code.width)
        self.register_buffer("v", torch.zeros(shape))
        self.register_buffer("u", torch.zeros(shape))

    def fit(self, x: Tensor, sens: Tensor, v: Tensor | None = None) -> Erasure:
        """Learn V, unless v is given for two groups, and U from scaled features and s."""
        x = x.double()
        found, centred = self._slopes(x, sens)
        v = found if v is None else v.double()
        covariance = centred.T @ centred / len(centred)
        # A small ridge, since binary columns that sum to a constant make Σ singular.
        ridge = 1e-3 * torch.eye(len(v), dtype=v.dtype, device=v.device)
        u = torch.linalg.solve(covariance + ridge, v)
        if v.dim() == 2:
            # Groups with equal means, or more of them than columns, make VᵀΣ⁻¹V singular.
            inverse = torch.linalg.pinv(v.T @ u, atol=1e-12, rtol=1e-10, hermitian=True)
            self.v.copy_(v)
            self.u.copy_(u @ inverse)
            return self
        reach = float(u @ v)
        if reach > 1e-12:
            self.v.copy_(v)
            self.u.copy_(u / reach)
        return self

    def _slopes(self, x: Tensor, sens: Tensor) -> tuple[Tensor, Tensor]:
        """V, and what φ(s) leaves of x, whose mean is 0."""
        if self.code.is_number:
            s = self.code.fit(sens)(sens)[:, 0]
            centred = x - x.mean(dim=0)
            v = s @ centred / (s @ s)
            return v, centred - s[:, None] * v
        groups = range(self.code.groups)
        means = [x[sens == s].mean(dim=0) for s in groups]
        centred = torch.cat([x[sens == s] - means[s] for s in groups])
        if len(means) == 2:
            return means[1] - means[0], centred
        return torch.stack([mean - means[0] for mean in means[1:]], dim=1), centred

    def forward(self, x: Tensor, sens: Tensor) -> Tensor:
        """Features (…, d) of people whose s is `sens` (…)."""
        code: Tensor = self.code(sens).to(x.dtype)
        if self.v.dim() == 2:
            many = self.share * (x @ self.u) + (1 - self.share) * code
            return x - many @ self.v.T
        along = self.share * (x @ self.u) + (1 - self.share) * code[..., 0]
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
