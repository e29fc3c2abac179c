"""Synthetic graphs: the paper's, and one whose neighbours matter; exact, any size."""

from __future__ import annotations

from typing import Any

from fairgear.causal import SyntheticSettings, sample
from fairgear.datasets.base import Dataset
from fairgear.graph import SensitiveGraph


def load_synthetic(*, seed: int = 0, **settings: Any) -> SensitiveGraph:
    """A graph drawn from the paper's causal model.

    Args:
        seed: of the graph.
        settings: fields of `SyntheticSettings`, such as `n`.
    """
    return sample(SyntheticSettings.from_dict(settings), seed=seed)


def load_neighbours(*, seed: int = 0, **settings: Any) -> SensitiveGraph:
    """A graph on which a person's neighbours say what their own features do not.

    Args:
        seed: of the graph.
        settings: fields of `SyntheticSettings` that differ from `NEIGHBOURS`, such as `n`.
    """
    chosen = SyntheticSettings.from_dict(NEIGHBOURS | settings)
    return sample(chosen, seed=seed, name=SYNTHETIC_NEIGHBOURS.name)


# Groups differ in mean, spread and skewness, people like their own group, and the label takes
# as much from the neighbourhood as from the person.
NEIGHBOURS: dict[str, Any] = {
    "n": 4000,
    "d_z": 8,
    "d": 6,
    "a": 0.08,
    "w_s": 1.0,
    "threshold": 0.82,
    "w_n": 1.0,
    "noise": 0.5,
    "shape": 0.4,
}

SYNTHETIC = Dataset(
    name="synthetic",
    summary="2,000 people drawn from the paper's causal model, counterfactuals known exactly",
    sensitive="s",
    label="y",
    released_labels=1000,
    released_share=0.1,
    source="sampled here, after Ma et al., WSDM 2022, section 4.1",
    licence="none needed: nobody's data",
    problems=("people who do not exist: good for checking a method, no evidence about anyone",),
    load=load_synthetic,
    sampled=True,
)

SYNTHETIC_NEIGHBOURS = Dataset(
    name="synthetic-neighbours",
    summary="4,000 people drawn so that neighbours matter, counterfactuals known exactly",
    sensitive="s",
    label="y",
    released_labels=1000,
    released_share=0.1,
    source="sampled here, by the paper's causal model with more in it",
    licence="none needed: nobody's data",
    problems=(
        "people who do not exist: good for checking a method, no evidence about anyone",
        "made so that a graph network gains by the graph: it shows that one can, not how often",
    ),
    load=load_neighbours,
    sampled=True,
)
