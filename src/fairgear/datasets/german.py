"""German: bank clients of the 1970s with the edge list that was published for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import fetch, nifty_file
from fairgear.datasets.tables import published_graph
from fairgear.graph import SensitiveGraph, undirected_edges

TABLE = nifty_file(
    "german/german.csv",
    sha256="49cc549b1ca3f1650e3bdcd8cfce62313c763abfbcbf785d32b07fb76ae078ca",
    size=77_765,
)
EDGES = nifty_file(
    "german/german_edges.txt",
    sha256="404d107384e05a14ce9befe04a710d7df0a7492095569dc35ffb5d47742ee300",
    size=1_248_500,
)


def load_german() -> SensitiveGraph:
    """1,000 clients; sensitive Gender (Female is 1), label GoodCustomer, the published edges."""
    frame = pd.read_csv(fetch(TABLE))
    frame["Gender"] = (frame["Gender"] == "Female").astype("int64")
    frame["GoodCustomer"] = (frame["GoodCustomer"] == 1).astype("int64")
    # Row numbers, written as floats such as 8.38e+02.
    pairs = np.loadtxt(fetch(EDGES)).astype(np.int64).T
    edges = undirected_edges(torch.from_numpy(pairs), len(frame))
    # One has a single value, the other is text; the authors' loader drops both.
    dropped = ["OtherLoansAtStore", "PurposeOfLoan"]
    return published_graph(GERMAN, frame, edges, dropped=dropped)


GERMAN = Dataset(
    name="german",
    summary="1,000 clients of a German bank, 1973-75; do they repay?",
    load=load_german,
    sensitive="Gender",
    label="GoodCustomer",
    groups=("Male", "Female"),
    answers=("no", "yes"),
    files=(TABLE, EDGES),
    source="Agarwal et al., UAI 2021 (NIFTY), from Statlog German Credit (UCI 144)",
    licence="CC BY 4.0 (UCI) for the original; none stated for this version of it",
    problems=(
        "Gender was read off a field that cannot tell married women from single men",
        "several codes of the original are known to be wrong (UCI 522 corrects them)",
        "no threshold on these columns gives the published edges",
    ),
)
