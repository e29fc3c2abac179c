"""
A PyG model
===========

Any PyTorch module with ``forward(x, edge_index)``. Does it help to hide the attribute's column
from it?
"""

# %%
# A graph attention network and the usual training loop.

import torch
from matplotlib.figure import Figure
from torch import nn
from torch_geometric.nn import GATConv

import fairgear as fg

graph = fg.datasets.load("synthetic", n=500, seed=0)


class Gat(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.columns = columns
        self.first = GATConv(len(columns), 8, heads=4)
        self.second = GATConv(32, 1)

    def forward(self, x, edge_index):
        return self.second(self.first(x[:, self.columns], edge_index).relu(), edge_index)[:, 0]


def train(model):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    rows, labels = graph.train_mask, graph.y[graph.train_mask].float()
    for _ in range(80):
        optimizer.zero_grad()
        logits = model(graph.x, graph.edge_index)[rows]
        nn.functional.binary_cross_entropy_with_logits(logits, labels).backward()
        optimizer.step()
    return model


torch.manual_seed(0)
columns = list(range(graph.num_features))
seeing = train(Gat(columns))
blind = train(Gat(columns[1:]))

# %%
# ``Worlds`` makes the counterfactual graphs once, for both.

worlds = fg.auditing.Worlds(graph)
audits = {
    name: fg.audit(
        model, worlds, name=name, self_people=50, other_causal_models=False, what_if_people=0
    )
    for name, model in (("with the column", seeing), ("without it", blind))
}
print({name: audit.probes.sens for name, audit in audits.items()})

# %%
# The second cannot read the attribute, and its answers change all the same: other features and
# links follow from it.

figure = Figure(figsize=(6.4, 3), layout="constrained")
axes = figure.subplots()
measures = {
    "delta_cf": "everybody's",
    "delta_cf_self": "one's own",
    "delta_cf_neighbor": "neighbours'",
}
for shift, (name, audit) in zip((-0.15, 0.15), audits.items(), strict=True):
    for place, measure in enumerate(measures):
        low, high = audit.intervals[measure]
        line = axes.plot([low, high], [place + shift] * 2, color=f"C{int(shift > 0)}", alpha=0.5)
        label = name if place == 0 else None
        axes.plot(
            audit.metrics[measure], place + shift, "o", color=line[0].get_color(), label=label
        )
axes.set_yticks(range(len(measures)), measures.values())
axes.set_xlabel("share of answers that change with this attribute, 95 % interval")
axes.set_xlim(left=0)
axes.legend(frameon=False)
figure
