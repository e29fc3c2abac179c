"""Bail: people released from prison, joined where their records are alike."""

from __future__ import annotations

import pandas as pd

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import fetch, nifty_file
from fairgear.datasets.tables import published_graph
from fairgear.graph import SensitiveGraph, SimilarityRule

TABLE = nifty_file(
    "bail/bail.csv",
    sha256="11a7c62be2b7aed7cb069624789755d5f57acc8b69580564e2401b084e2d5faf",
    size=820_405,
)


def load_bail() -> SensitiveGraph:
    """18,876 people; sensitive WHITE, label RECID, threshold 0.6 on the 18 other columns."""
    return published_graph(BAIL, pd.read_csv(fetch(TABLE)), SimilarityRule(0.6))


BAIL = Dataset(
    name="bail",
    summary="18,876 people released from prison; do they return?",
    load=load_bail,
    sensitive="WHITE",
    label="RECID",
    groups=("not white", "white"),
    answers=("does not return", "returns"),
    files=(TABLE,),
    source="Agarwal et al., UAI 2021 (NIFTY); by all signs Schmidt and Witte (ICPSR 8987)",
    licence="none stated for the data; ICPSR's terms of use for the original",
    problems=(
        "TIME, the months until the return, is nearly a copy of the label",
        "not about bail: the rows are former prisoners of North Carolina, 1978 and 1980",
        "missing values are plain numbers: PRIORS is -9 for 1,347 people",
        "the edges join people of nearly the same age in months; columns of 0 and 1 hardly count",
    ),
)
