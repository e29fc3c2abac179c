"""The paper's synthetic graph: embedded, exact, any size."""

from __future__ import annotations

from fairgear.causal import SyntheticSettings, sample
from fairgear.datasets.base import Dataset
from fairgear.graph import SensitiveGraph


def load_synthetic(
    *,
    seed: int = 0,
    n: int = 2000,
    p: float = 0.4,
    d_z: int = 50,
    d: int = 25,
    a: float = 0.01,
    w_s: float = 0.5,
    threshold: float = 0.4,
) -> SensitiveGraph:
    """A graph drawn from the paper's causal model; `seed` is the graph's own."""
    settings = SyntheticSettings(n=n, p=p, d_z=d_z, d=d, a=a, w_s=w_s, threshold=threshold)
    return sample(settings, seed=seed)


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
