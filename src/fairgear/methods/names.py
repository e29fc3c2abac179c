"""What a shell must know of the methods before torch is loaded."""

from __future__ import annotations

# Entry points of other packages' methods.
GROUP = "fairgear.methods"
# Our own, in the order in which they are listed.
NAMES = (
    "gear",
    "gear-paper",
    "gcn",
    "graphsage",
    "gin",
    "c-enc",
    "fairgnn",
    "nifty-gcn",
    "nifty-sage",
    "logistic",
    "logistic-unaware",
    "logistic-residual",
    "logistic-projected",
    "boosting",
)
