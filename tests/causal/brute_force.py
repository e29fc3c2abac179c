"""The synthetic structural equations written out over n×n matrices, node by node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear import SensitiveGraph
from fairgear.causal import SyntheticMechanism

Matrix = NDArray[np.float64]


def world(graph: SensitiveGraph, sens: NDArray[np.int64]) -> tuple[Matrix, Matrix, Matrix]:
    """Features, adjacency and labels had the attribute been `sens`."""
    mechanism: SyntheticMechanism = graph.mechanism
    settings = mechanism.settings
    assert graph.latent is not None
    z = graph.latent.numpy()
    n = len(z)
    adjacency = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                cosine = z[i] @ z[j] / np.linalg.norm(z[i]) / np.linalg.norm(z[j])
                bonus = settings.a if sens[i] == sens[j] else 0.0
                adjacency[i, j] = cosine + bonus >= settings.threshold
    closed = adjacency + np.eye(n)
    means = closed @ sens / closed.sum(1)
    labels = z @ mechanism.w.numpy() + settings.w_s * means > mechanism.label_threshold
    features = np.zeros((n, settings.d + 1))
    for i in range(n):
        features[i, 0] = sens[i]
        features[i, 1:] = z[i, mechanism.columns.numpy()] + sens[i] * mechanism.v.numpy()
    return features, adjacency, labels.astype(float)


def adjacency_of(graph: SensitiveGraph) -> Matrix:
    n = graph.x.shape[0]
    matrix = np.zeros((n, n))
    matrix[graph.edge_index[0].numpy(), graph.edge_index[1].numpy()] = 1
    return matrix
