"""The paper's synthetic graph: embedded, exact, any size."""

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
