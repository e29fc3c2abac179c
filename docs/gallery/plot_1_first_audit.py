"""
First audit
===========

Would a model's answers be different, had people belonged to another group? This example trains a
graph network, asks, and looks at the people who matter most.
"""

# %%
# The people are drawn from known equations, so what would be different is known exactly. For
# collected data it is an assumption, and an audit asks several causal models.

import fairgear as fg

graph = fg.datasets.load("synthetic", n=500, seed=0)
graph

# %%
# A plain GraphSAGE of fairgear. Any other model would do: see the next examples.

sage = fg.methods.METHODS["graphsage"](seed=0, steps=100).fit(graph)
audit = fg.audit(sage, graph, self_people=50, what_if_people=5)
print(f"AUROC {audit.metrics['auroc']:.2f}, answers that change {audit.metrics['delta_cf']:.2f}")
print(audit.causal_models.verdict)

# %%
# In which worlds do answers change? Lines are 95 % intervals: what other people of the same kind
# could have given.

audit.plot.flips()

# %%
# One person as it is, and as it would be in another group: features move, links come and go.

person = audit.affected[0].node_id
audit.plot.ego(person)

# %%
# ``audit.save_html("report.html")`` writes everything as one page.
