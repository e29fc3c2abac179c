"""From a graph's features to what networks see: scaled, the shift's direction erased, unit rows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.methods.lengths import EvenLength, spread_of


class FeatureScaler(nn.Module):
    """Features without the sensitive column, at zero mean and unit variance as learned in `fit`.

    A module, so that its statistics are saved and moved with the weights.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int, sens_column: int | None) -> None:
        super().__init__()
        self.sens_column = sens_column
        self.register_buffer("mean", torch.zeros(width, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(width, dtype=torch.float64))

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
        """Rows of a graph's features, of any leading sizes, scaled; float32."""
        return ((self.columns(x) - self.mean) / self.scale).float()

    def columns(self, x: Tensor) -> Tensor:
        """Rows of a graph's features before they are standardised, float64: no sensitive column."""
        x = x.to(self.mean.device, torch.float64)
        if self.sens_column is not None:
            x = torch.cat([x[..., : self.sens_column], x[..., self.sens_column + 1 :]], dim=-1)
        return x

    def check(self, graph: SensitiveGraph) -> None:
        """Refuse a graph with other columns than those of the fit."""
        width = len(self.mean) + (self.sens_column is not None)
        if graph.x.shape[1] != width or graph.sens_column != self.sens_column:
            raise GraphError(
                "features of a graph for a fitted model",
                f"{graph.x.shape[1]} columns, sens_column {graph.sens_column}",
                f"{width} columns, sens_column {self.sens_column}",
                "pass a graph with the columns that the model was fitted on",
            )


class Erasure(nn.Module):
    """x − v (share·(u·x) + (1 − share)·s): what the groups differ by, taken out of the features.

    With a share of 1 the direction v is projected out: neither s nor a move along v changes what
    is left. u is proportional to Σ⁻¹v with u·v = 1, Σ the covariance within groups: of all
    projections along v this one leaves the most information about everything else. With a share
    of 0 everybody's features are brought to those of group 0, and what v tells within a group
    stays. Whatever the share, nothing changes where s and the features move together, by 1 and v.
    """

    v: Tensor
    u: Tensor

    def __init__(self, width: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("v", torch.zeros(width))
        self.register_buffer("u", torch.zeros(width))

    def fit(self, x: Tensor, sens: Tensor, v: Tensor | None = None) -> Erasure:
        """Learn u from scaled features and groups; v too, as the difference of their means."""
        x = x.double()
        means = [x[sens == s].mean(dim=0) for s in (0, 1)]
        v = means[1] - means[0] if v is None else v.double()
        centred = torch.cat([x[sens == s] - means[s] for s in (0, 1)])
        covariance = centred.T @ centred / len(centred)
        # A little ridge: binary columns that sum to a constant make Σ singular.
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


class UnitRows(nn.Module):
    """Each person's features at unit length, in the units of the graph: a common factor is lost.

    What the groups differ by is erased before the length is taken: where v is projected out,
    neither a move along v nor a factor changes the result.
    """

    shift: Tensor
    scale: Tensor
    mean: Tensor
    spread: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.length = EvenLength(width)
        for name in ("shift", "mean"):
            self.register_buffer(name, torch.zeros(width))
        for name in ("scale", "spread"):
            self.register_buffer(name, torch.ones(width))

    def fit(
        self, x: Tensor, sens: Tensor, scaler: FeatureScaler, erasure: Erasure | None
    ) -> UnitRows:
        """Learn how to undo the scaler, what length is, and the scale of the result."""
        self.shift.copy_(scaler.mean / scaler.scale)
        self.scale.copy_(scaler.scale)
        self.length.fit(self._own(x, sens, erasure))
        rows = self._unit(x, sens, erasure).double()
        self.mean.copy_(rows.mean(dim=0))
        self.spread.copy_(spread_of(rows))
        return self

    def forward(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        """Unit rows of scaled features, at zero mean and unit variance again."""
        scaled: Tensor = (self._unit(x, sens, erasure) - self.mean) / self.spread
        return scaled

    def _unit(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        own = self._own(x, sens, erasure)
        unit: Tensor = own / self.length(own)[..., None]
        return unit

    def _own(self, x: Tensor, sens: Tensor, erasure: Erasure | None) -> Tensor:
        """Features in the units of the graph, without what the groups differ by."""
        x = x + self.shift
        own: Tensor = self.scale * (x if erasure is None else erasure(x, sens))
        return own
