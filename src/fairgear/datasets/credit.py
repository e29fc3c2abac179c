"""Credit: credit card clients in Taiwan, joined where their bills and payments are alike."""

from __future__ import annotations

import pandas as pd

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import fetch, nifty_file
from fairgear.datasets.tables import published_graph
from fairgear.graph import SensitiveGraph, SimilarityRule

TABLE = nifty_file(
    "credit/credit.csv",
    sha256="5d7a93f25a09dd1648c78b5e0c6a883ca832ee88259d89dfe1062e8c848bfe5d",
    size=1_152_844,
)


def load_credit() -> SensitiveGraph:
    """30,000 clients; sensitive Age, label NoDefaultNextMonth, threshold 0.7 on 13 columns."""
    frame = pd.read_csv(fetch(TABLE))
    return published_graph(CREDIT, frame, SimilarityRule(0.7), dropped=["Single"])


CREDIT = Dataset(
    name="credit",
    summary="30,000 credit card clients in Taiwan, 2005; do they pay next month?",
    load=load_credit,
    sensitive="Age",
    label="NoDefaultNextMonth",
    groups=("25 or older", "under 25"),
    answers=("default", "no default"),
    files=(TABLE,),
    released_labels=6000,
    source="Agarwal et al., UAI 2021 (NIFTY), from Yeh and Lien, 2009 (UCI 350)",
    licence="CC BY 4.0 (UCI) for the original; none stated for this version of it",
    problems=(
        "Age is no age: 1 means younger than 25, which 9 % are",
        "the edges join people with like amounts of money; the other columns hardly count",
        "2,092 people share all their features with another one",
    ),
)
