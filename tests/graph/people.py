"""The people of examples/, in every form that a graph can be made from."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from torch_geometric.data import Data

# Through the back door: it ships no types.
nx: Any = importlib.import_module("networkx")
EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE, FRIENDS = EXAMPLES / "people.csv", EXAMPLES / "friends.csv"


def people() -> pd.DataFrame:
    return pd.read_csv(PEOPLE)


def friends() -> pd.DataFrame:
    return pd.read_csv(FRIENDS)


def tiny(**columns: Any) -> pd.DataFrame:
    """Eight people; further columns, or others in place of these, as given."""
    table: dict[str, Any] = {
        "age": [20, 30, 40, 50, 60, 70, 80, 90],
        "sex": ["f", "m"] * 4,
        "ok": ["no", "no", "yes", "yes"] * 2,
    }
    return pd.DataFrame(table | columns)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def rows_of_friends() -> np.ndarray[Any, np.dtype[np.int64]]:
    row = {name: number for number, name in enumerate(people().id)}
    return np.stack([friends()[end].map(row).to_numpy() for end in ("source", "target")])


def network(kind: Any = nx.Graph) -> Any:
    """The people as a NetworkX graph."""
    graph = kind()
    for row in records(people()):
        graph.add_node(row.pop("id"), **row)
    graph.add_edges_from(friends().itertuples(index=False, name=None))
    return graph


def adjacency() -> Any:
    source, target = rows_of_friends()
    shape = (len(people()),) * 2
    return sparse.csr_array((np.full(len(source), 2.5), (source, target)), shape=shape)


def pyg_data() -> Data:
    """The people as a PyG graph that somebody encoded by hand."""
    table = people()
    columns = {
        "age": table.age,
        "income": table.income,
        "debt": table.debt,
        **{f"job={job}": table.job == job for job in sorted(set(table.job))},
        **{f"city={city}": table.city == city for city in sorted(set(table.city))},
        "owner": table.owner,
        "sex": table.sex == "male",
    }
    x = np.stack([np.asarray(column, dtype=np.float64) for column in columns.values()], axis=1)
    return Data(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(rows_of_friends()),
        y=torch.from_numpy((table.approved == "yes").to_numpy().astype(np.int64)),
        sens=torch.from_numpy((table.sex == "male").to_numpy().astype(np.int64)),
        feature_names=list(columns),
        person=table.id.tolist(),
    )
