"""
Age
===

A sensitive attribute that is a number. Everybody is set to five of its quantiles, or values
change hands.
"""

# %%
# Boosted trees on the loans of a thousand invented people. The column ``age`` has 41 different
# values, so it is read as a number.

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier

import fairgear as fg

EXAMPLES = Path("../../examples")
applicants = pd.read_csv(EXAMPLES / "applicants.csv").drop(columns="loan")
graph = fg.graph.from_tables(
    applicants, label="approved", sensitive="age", similarity=0.7, standardize=True
)
graph = fg.graph.split(graph, seed=0)

rows, x = graph.train_mask.numpy(), graph.x.numpy()
model = HistGradientBoostingClassifier(max_iter=40).fit(x[rows], graph.y.numpy()[rows])
audit = fg.audit(model, graph, self_people=0, other_causal_models=False, what_if_people=0)

# %%
# The share of answers that change in each of these worlds.

audit.plot.flips()

# %%
# Tables of groups need groups: five ranges with a fifth of the people each.

audit.plot.groups()

# %%
# The mean score of the same people, had they all been of that age.

worlds = audit.people.filter(regex="score_strict_quantile")
quantiles = [float(name.rsplit("_", 1)[1]) for name in worlds]
ages = applicants["age"].quantile(quantiles)
figure = Figure(figsize=(6.4, 3.4), layout="constrained")
axes = figure.subplots()
axes.plot(ages, worlds.mean(), "o-")
axes.axhline(audit.people["score"].mean(), color="grey", linewidth=0.8)
axes.set_xlabel("everybody's age (grey: as they are)")
axes.set_ylabel("mean score")
figure
