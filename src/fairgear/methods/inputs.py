"""From a graph's raw features to what networks see: scaling, and erasing the shift's direction."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph


class FeatureScaler(nn.Module):
    """Features without the sensitive column, at zero mean and unit variance as learned in `fit`.

    A module, so that its statistics are saved and moved with the weights.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, width: int, sens_column: int | None, *, normalize_rows: bool) -> None:
        super().__init__()
        self.sens_column = sens_column
        self.normalize_rows = normalize_rows
        self.register_buffer("mean", torch.zeros(width, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(width, dtype=torch.float64))

    def fit(self, graph: SensitiveGraph, order: Tensor | None = None) -> FeatureScaler:
        """Learn mean and scale from all nodes, summed in `order`; labels play no part."""
        x = self.columns(graph)
        x = x if order is None else x[order]
        self.mean.copy_(x.mean(dim=0))
        deviation = x.std(dim=0, correction=0)
        # A constant column stays constant: dividing by its rounding error would not.
        self.scale.copy_(torch.where(deviation > 1e-9, deviation, torch.ones_like(deviation)))
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Scaled features (n, d), float32."""
        return ((self.columns(graph) - self.mean) / self.scale).float()

    def columns(self, graph: SensitiveGraph) -> Tensor:
        """The features before they are standardised, float64: no sensitive column."""
        x = graph.x.to(self.mean.device, torch.float64)
        width = len(self.mean) + (self.sens_column is not None)
        if x.shape[1] != width or graph.sens_column != self.sens_column:
            raise GraphError(
                "features of a graph for a fitted model",
                got=f"{x.shape[1]} columns, sens_column {graph.sens_column}",
                allowed=f"{width} columns, sens_column {self.sens_column}",
                next_step="pass a graph with the columns that the model was fitted on",
            )
        if self.sens_column is not None:
            x = torch.cat([x[:, : self.sens_column], x[:, self.sens_column + 1 :]], dim=1)
        if self.normalize_rows:
            x = x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)
        return x


class Erasure(nn.Module):
    """x − share·v (u·x): takes the direction of the sensitive shift v out of the features.

    u is proportional to Σ⁻¹v with u·v = 1, Σ the covariance within groups: of all projections
    along v this one leaves the most information about everything else.
    """

    v: Tensor
    u: Tensor

    def __init__(self, width: int, share: float) -> None:
        super().__init__()
        self.share = share
        self.register_buffer("v", torch.zeros(width))
        self.register_buffer("u", torch.zeros(width))

    def fit(self, x: Tensor, sens: Tensor, shift: Tensor) -> Erasure:
        """Learn u from scaled features, groups and the shift between them."""
        x, v = x.double(), shift.double()
        centred = torch.cat([x[sens == s] - x[sens == s].mean(dim=0) for s in (0, 1)])
        covariance = centred.T @ centred / len(centred)
        # A little ridge: binary columns that sum to a constant make Σ singular.
        ridge = 1e-3 * torch.eye(len(v), dtype=v.dtype, device=v.device)
        u = torch.linalg.solve(covariance + ridge, v)
        reach = float(u @ v)
        if reach > 1e-12:
            self.v.copy_(v)
            self.u.copy_(u / reach)
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Features with the share of the direction taken out."""
        return x - self.share * (x @ self.u)[..., None] * self.v
