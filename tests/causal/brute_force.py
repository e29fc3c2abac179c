"""The synthetic structural equations written out over n×n matrices, node by node."""

from __future__ import annotations

import math

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
    z, noise = np.split(graph.latent.numpy(), [settings.d_z], axis=1)
    n = len(z)
    adjacency = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                cosine = z[i] @ z[j] / np.linalg.norm(z[i]) / np.linalg.norm(z[j])
                bonus = settings.a if sens[i] == sens[j] else 0.0
                adjacency[i, j] = cosine + bonus >= settings.threshold
    closed = adjacency + np.eye(n)
    own = z @ mechanism.w.numpy()
    scores = [
        own[i]
        + settings.w_s * np.mean([sens[j] for j in range(n) if closed[i, j]])
        + settings.w_n * np.mean([own[j] for j in range(n) if closed[i, j]])
        for i in range(n)
    ]
    labels = np.array(scores) > mechanism.label_threshold
    features = np.zeros((n, settings.d + 1))
    for i in range(n):
        features[i, 0] = sens[i]
        for k, column in enumerate(mechanism.columns.tolist()):
            seen = z[i, column]
            if noise.size:
                seen = seen + settings.noise * noise[i, k]
            if sens[i] and settings.shape:
                bend = float(mechanism.skew[k]) * math.sqrt(1 + seen * seen)
                seen = float(mechanism.stretch[k]) * (seen + bend)
            features[i, 1 + k] = seen + sens[i] * float(mechanism.v[k])
    return features, adjacency, labels.astype(float)


def adjacency_of(graph: SensitiveGraph) -> Matrix:
    n = graph.x.shape[0]
    matrix = np.zeros((n, n))
    matrix[graph.edge_index[0].numpy(), graph.edge_index[1].numpy()] = 1
    return matrix
