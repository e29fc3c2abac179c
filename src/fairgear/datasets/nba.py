"""NBA: basketball players, joined as they are on Twitter."""

from __future__ import annotations

import pandas as pd
import torch

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import FAIRGNN, RemoteFile, fetch
from fairgear.datasets.tables import published_graph
from fairgear.graph import SensitiveGraph, undirected_edges

TABLE = RemoteFile(
    path="nba/nba.csv",
    url=f"{FAIRGNN}/NBA/nba.csv",
    sha256="fe295195cff01f20b785fe9de1e24062123cb146bdae080ce8b3ea8315d45b80",
    size=128_489,
)
EDGES = RemoteFile(
    path="nba/nba_relationship.txt",
    url=f"{FAIRGNN}/NBA/nba_relationship.txt",
    sha256="14c73245e5d6b6457cce7504e2bb0ded6b81155e25bf0e7d23793df7c01b4873",
    size=325_785,
)


def load_nba() -> SensitiveGraph:
    """403 players; sensitive country, label SALARY (unknown for 90), their own edges and ids."""
    # Some ids exceed 2⁵³, where floats have gaps: they are integers from the file on.
    frame = pd.read_csv(fetch(TABLE), dtype={"user_id": "int64"})
    listed = pd.read_csv(fetch(EDGES), sep="\t", header=None, dtype="int64").to_numpy()
    rows = pd.Index(frame["user_id"]).get_indexer(listed.ravel()).reshape(listed.shape)
    edges = undirected_edges(torch.from_numpy(rows.T.astype("int64")), len(frame))
    node_id = torch.from_numpy(frame["user_id"].to_numpy("int64", copy=True))
    return published_graph(NBA, frame, edges, dropped=["user_id"], node_id=node_id)


NBA = Dataset(
    name="nba",
    summary="403 basketball players, 2016/17; is their salary above the median?",
    load=load_nba,
    sensitive="country",
    label="SALARY",
    groups=("United States", "overseas"),
    answers=("up to the median", "above the median"),
    files=(TABLE, EDGES),
    source="Dai and Wang, WSDM 2021 (FairGNN), from Kaggle's Social Power NBA and Twitter",
    problems=(
        "known people under their Twitter ids: never publish results about one of them",
        "403 people, 313 with a label: intervals are wide",
        "country says only whether a player counts as from the United States (0) or not (1)",
    ),
)
