"""Credit: credit card clients in Taiwan, joined where their bills and payments are alike."""

from __future__ import annotations

import pandas as pd

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import NIFTY, RemoteFile, fetch
from fairgear.datasets.tables import published_graph
from fairgear.graph import SensitiveGraph, SimilarityRule

TABLE = RemoteFile(
    path="credit/credit.csv",
    url=f"{NIFTY}/credit/credit.csv",
    sha256="5d7a93f25a09dd1648c78b5e0c6a883ca832ee88259d89dfe1062e8c848bfe5d",
    size=1_152_844,
)


def load_credit() -> SensitiveGraph:
    """30,000 clients; sensitive Age, label NoDefaultNextMonth, threshold 0.7 on 13 columns."""
    return published_graph(
        pd.read_csv(fetch(TABLE)),
        SimilarityRule(0.7),
        label="NoDefaultNextMonth",
        sensitive="Age",
        dropped=["Single"],
        name="credit",
    )


CREDIT = Dataset(
    name="credit",
    summary="30,000 credit card clients in Taiwan, 2005; do they pay next month?",
    sensitive="Age",
    label="NoDefaultNextMonth",
    released_labels=6000,
    released_share=0.05,
    source="Agarwal et al., UAI 2021 (NIFTY), from Yeh and Lien, 2009 (UCI 350)",
    licence="CC BY 4.0 (UCI) for the original; none stated for this version of it",
    problems=(
        "Age is no age: 1 means younger than 25, which 9 % are",
        "the edges join people with like amounts of money; the other columns hardly count",
        "2,092 people share all their features with another one",
    ),
    load=load_credit,
    files=(TABLE,),
)
