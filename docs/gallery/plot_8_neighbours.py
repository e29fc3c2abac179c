"""
People and their neighbours
===========================

Who changes when neighbours change? A graph network reads a person's neighbours, so their
attribute can matter even where the person's own stays as it is.
"""

# %%
# In this graph labels depend on neighbours' features. GraphSAGE reads them; the logistic
# regression reads people alone.

from matplotlib.figure import Figure

import fairgear as fg
from fairgear.methods import METHODS

graph = fg.datasets.load("synthetic-neighbours", n=600, seed=0)
worlds = fg.auditing.Worlds(graph)
audits = {
    name: fg.audit(
        METHODS[name](seed=0, **settings).fit(graph),
        worlds,
        name=name,
        self_people=60,
        other_causal_models=False,
        what_if_people=5,
    )
    for name, settings in (("graphsage", {"steps": 100}), ("logistic", {}))
}
print(
    {name: (audit.probes.graph, f"{audit.metrics['auroc']:.2f}") for name, audit in audits.items()}
)

# %%
# Answers that change with one's own attribute, with the neighbours', and with both. Where a model
# reads no links, neighbours cannot matter: that row is a check of the audit.

figure = Figure(figsize=(6.4, 3), layout="constrained")
axes = figure.subplots()
measures = {
    "delta_cf_self": "one's own",
    "delta_cf_neighbor": "the neighbours'",
    "delta_cf_both": "both",
}
for i, (name, audit) in enumerate(audits.items()):
    for place, measure in enumerate(measures):
        low, high = audit.intervals[measure]
        axes.plot([low, high], [place + 0.2 * i] * 2, color=f"C{i}", alpha=0.5)
        label = name if place == 0 else None
        axes.plot(audit.metrics[measure], place + 0.2 * i, "o", color=f"C{i}", label=label)
axes.set_yticks(range(len(measures)), measures.values())
axes.set_xlabel("share of answers that change with this attribute, 95 % interval")
axes.set_xlim(left=0)
axes.legend(frameon=False)
figure

# %%
# The neighbours who matter most to the most affected people, with the change of the person's
# score if that neighbour alone were of the other group.

people = audits["graphsage"].people
shown = people[people["neighbors_that_matter"].fillna("") != ""]
shown[["node_id", "sens", "score", "label", "neighbors_that_matter"]].head(5).round(3)

# %%
# The most affected person, as it is and in another world, with links that are new there or gone.

audits["graphsage"].plot.ego(audits["graphsage"].affected[0].node_id)
