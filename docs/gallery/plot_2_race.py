"""
Race with five values
=====================

A table of a thousand invented people who ask for a loan, with five groups. Everybody is put into
each group in turn.
"""

# %%
# A classifier that never sees anybody's race. People are linked where their rows are similar, and
# the same rule links them in other worlds.

from pathlib import Path

import pandas as pd
from sklearn.linear_model import LogisticRegression

import fairgear as fg

EXAMPLES = Path("../../examples")
applicants = pd.read_csv(EXAMPLES / "applicants.csv").drop(columns="loan")
graph = fg.graph.from_tables(
    applicants, label="approved", sensitive="race", similarity=0.7, standardize=True
)
graph = fg.graph.split(graph, seed=0)

rows, x = graph.train_mask.numpy(), graph.x.numpy()
model = LogisticRegression(max_iter=1000).fit(x[rows], graph.y.numpy()[rows])
audit = fg.audit(model, graph, self_people=60, other_causal_models=False, what_if_people=0)

# %%
# Approved shares as things are. The dashed line is four fifths of the highest.

audit.plot.groups()

# %%
# The gap says nothing about what would change. That is δCF: the share of answers that differ
# where everybody is of one group, or all groups are evenly mixed.

audit.plot.flips()

# %%
# Each cell is the share whose answer changes when they alone are moved from the group of the row
# to that of the column.

names = list(audit.names.groups)
audit.self_flips().set_axis(names, axis=0).set_axis(names, axis=1).round(2)
