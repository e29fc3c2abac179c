"""
Tuning a trade-off
==================

How much accuracy does it cost to have fewer answers change? One setting is turned, and chosen on
validation people.
"""

# %%
# Gear's ``fairness_weight`` says how much an answer that changes counts in training. Few steps,
# so that this page is quick.

import fairgear as fg

graph = fg.datasets.load("synthetic", n=400, seed=0)
worlds = fg.auditing.Worlds(graph)
fitted, audits = {}, {}
for weight in (0, 1, 5, 20):
    fitted[weight] = fg.Gear(fairness_weight=weight, steps=40, seed=0).fit(graph)
    audits[weight] = fg.audit(
        fitted[weight],
        worlds,
        name=f"weight {weight}",
        nodes=graph.val_mask,
        self_people=0,
        other_causal_models=False,
        what_if_people=0,
    )

# %%
# Each point is one model, judged on the validation people; lines are 95 % intervals. With 80
# people they are wide: do not choose by a difference that the intervals do not show.

first, *others = audits.values()
first.plot.tradeoff(against=others)

# %%
# The rule, written down before looking: the fewest flips among models that lose at most .02 of
# the best AUROC.

best = max(audit.metrics["auroc"] for audit in audits.values())
allowed = {w: a for w, a in audits.items() if a.metrics["auroc"] >= best - 0.02}
chosen = min(allowed, key=lambda weight: allowed[weight].metrics["delta_cf"])
print(f"weight {chosen}")

# %%
# Only now the test people are asked, once, about the one model that was chosen.

final = fg.audit(fitted[chosen], worlds, self_people=0, other_causal_models=False, what_if_people=0)
for name in ("auroc", "delta_cf"):
    low, high = final.intervals[name]
    print(f"{name:8} {final.metrics[name]:.2f} ({low:.2f} to {high:.2f})")
