"""
A diagram of your own
=====================

What follows from the attribute, and which reasons are accepted? People decide that, and write it
down as arrows.
"""

# %%
# Sex changes the job; sex, job and age make the income; the income makes the debts.

from pathlib import Path

import networkx as nx
import pandas as pd
import torch
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

import fairgear as fg
from fairgear.causal import Diagram, FeatureSequential, with_features

parents = {"job": ["sex"], "income": ["sex", "job", "age"], "debt": ["income"]}
arrows = nx.DiGraph([(cause, effect) for effect, causes in parents.items() for cause in causes])
places = {"sex": (0, 1), "age": (0, 0), "job": (1, 1), "income": (2, 0.5), "debt": (3, 0.5)}
figure = Figure(figsize=(6, 2.4), layout="constrained")
nx.draw(
    arrows, places, ax=figure.subplots(), with_labels=True, node_size=2200, node_color="#d7e5f2"
)
figure

# %%
# A model that never sees anybody's sex.

EXAMPLES = Path("../../examples")
people, friends = (pd.read_csv(EXAMPLES / name) for name in ("people.csv", "friends.csv"))
graph = fg.graph.from_tables(people, friends, label="approved", sensitive="sex")
graph = fg.graph.split(graph, seed=0)
table = pd.DataFrame(graph.x.numpy(), columns=graph.feature_names).drop(columns="sex")
rows = graph.train_mask.numpy()
model = LogisticRegression(max_iter=5000).fit(table[rows], graph.y.numpy()[rows])

# %%
# The same model under three views of what a lender may look at. An accepted reason keeps its
# value in every world.

changed = {}
for accepted in ([], ["job"], ["job", "income"]):
    causal = with_features(FeatureSequential(diagram=Diagram(parents, resolving=accepted)), graph)
    everybody = torch.arange(len(graph.x))
    audit = fg.audit(
        model,
        graph,
        causal_model=causal,
        nodes=everybody,
        other_causal_models=False,
        what_if_people=0,
    )
    name = " and ".join(accepted) or "no reason"
    changed[name] = audit.metrics["delta_cf_self"], *audit.intervals["delta_cf_self"]

figure = Figure(figsize=(6.4, 2.6), layout="constrained")
axes = figure.subplots()
for place, (value, low, high) in enumerate(changed.values()):
    axes.plot([low, high], [place, place], color="C0", alpha=0.5)
    axes.plot(value, place, "o", color="C0")
axes.set_yticks(range(len(changed)), [f"accepted: {name}" for name in changed])
axes.set_ylim(len(changed) - 0.5, -0.5)
axes.set_xlabel("share who would be treated otherwise, had they been of the other sex")
figure

# %%
# Three verdicts on one model. Where nobody can decide, ask the family of causal models and report
# the bounds.
