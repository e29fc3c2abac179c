"""An audit of a GraphSAGE on Bail: every intervention, three draws; seconds and peak memory.

    python benchmarks/audit_bail.py [--self-people 500]

The model is trained in plain PyG for 200 epochs on the split sixty-twenty-twenty and audited on
the test people. The whole audit is held against what one forward pass of the model costs, so that
the ratio means something on another machine.
"""

from __future__ import annotations

import argparse
import resource
import time

import torch
from torch_geometric.nn import SAGEConv

from fairgear import SensitiveGraph, audit, datasets


class GraphSage(torch.nn.Module):
    def __init__(self, features: int, width: int = 64) -> None:
        super().__init__()
        self.first = SAGEConv(features, width)
        self.second = SAGEConv(width, 1)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.first(x, edge_index))
        return self.second(hidden, edge_index)[:, 0]


def trained(graph: SensitiveGraph, epochs: int = 200) -> GraphSage:
    torch.manual_seed(0)
    model = GraphSage(graph.x.shape[1])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-5)
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        optimiser.zero_grad()
        scores = model(graph.x, graph.edge_index)
        loss(scores[graph.train_mask], graph.y[graph.train_mask].float()).backward()
        optimiser.step()
    return model


def seconds(work: object, repeats: int = 5) -> float:
    assert callable(work)
    work()
    begin = time.perf_counter()
    for _ in range(repeats):
        work()
    return (time.perf_counter() - begin) / repeats


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--self-people", type=int, default=None)
    options = parser.parse_args()
    graph = datasets.load_split("bail", split="sixty-twenty-twenty", seed=0)
    model = trained(graph)
    with torch.no_grad():
        forward = seconds(lambda: model(graph.x, graph.edge_index))
    begin = time.perf_counter()
    result = audit(model, graph, self_people=options.self_people)
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(result.to_frame().to_string(index=False))
    print("\n".join(result.notes))
    print(f"one forward pass {forward:.3f} s; threads {torch.get_num_threads()}")
    print(f"audit {took:.0f} s, {took / forward:.0f} forward passes; peak memory {peak:.2f} GB")


if __name__ == "__main__":
    main()
