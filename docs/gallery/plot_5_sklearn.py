"""
scikit-learn
============

Two classifiers of a table, compared person by person.
"""

# %%
# Classifiers of scikit-learn get the features and no links. In other worlds the features move.

from pathlib import Path

import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import fairgear as fg

EXAMPLES = Path("../../examples")
applicants = pd.read_csv(EXAMPLES / "applicants.csv").drop(columns=["loan", "race"])
graph = fg.graph.from_tables(
    applicants, label="approved", sensitive="sex", similarity=0.7, standardize=True
)
graph = fg.graph.split(graph, seed=0)
rows, x, y = graph.train_mask.numpy(), graph.x.numpy(), graph.y.numpy()

models = {
    "logistic": LogisticRegression(max_iter=1000),
    "forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
}
worlds = fg.auditing.Worlds(graph)
audits = {
    name: fg.audit(
        model.fit(x[rows], y[rows]),
        worlds,
        name=name,
        self_people=100,
        other_causal_models=False,
        what_if_people=0,
    )
    for name, model in models.items()
}

# %%
# Accuracy against answers that change. Neither number says anything without the other: a model
# that gives everybody the same answer has no flips.

audits["logistic"].plot.tradeoff(against=[audits["forest"]])

# %%
# The difference of each measure, with its interval. ``better`` names a model only where the
# interval excludes 0.

comparison = audits["logistic"].compare(audits["forest"]).to_frame()
comparison[["metric", "first", "second", "difference", "low", "high", "better"]].round(3)
