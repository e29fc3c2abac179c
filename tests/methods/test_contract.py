"""Every method passes every check of the contract."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairgear.methods import METHODS
from fairgear.testing import CONTRACT, Trial
from fairgear.testing.contract import takes

# Small enough for a test; methods not listed here run with their defaults.
NETWORK = {"dim": 16, "steps": 30, "validate_every": 10, "dropout": 0.1, "learning_rate": 0.03}
SETTINGS: dict[str, dict[str, Any]] = {
    "gear": {"dim": 16, "steps": 30, "learning_rate": 0.03, "dropout": 0.1},
    "gear-paper": {
        "dim": 16,
        "steps": 30,
        "learning_rate": 0.03,
        "k": 8,
        "generator": {"steps": 10, "hidden": 8, "batch_size": 50},
    },
    "boosting": {"trees": 10},
    "gcn": NETWORK,
    "graphsage": NETWORK,
    "gin": NETWORK,
    "c-enc": NETWORK,
    "fairgnn": {**NETWORK, "estimator_steps": 10, "known_sens": 80},
    "nifty-gcn": {**NETWORK, "drop_edges": 0.1},
    "nifty-sage": {**NETWORK, "drop_edges": 0.1},
}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "methods" / "index.md"
# The columns of its table: what is unusual about a graph.
KINDS = (
    {"sens": "categorical"},
    {"sens": "continuous"},
    {"kind": "multiclass"},
    {"kind": "regression"},
    {"links": "directed"},
    {"links": "weighted"},
)
# Methods that ignore the seed.
DETERMINISTIC = (
    "logistic",
    "logistic-unaware",
    "logistic-residual",
    "logistic-projected",
    "boosting",
)


@pytest.fixture(scope="module")
def trials() -> dict[str, Trial]:
    """One for each method, so that all checks share its fitted models."""
    return {
        name: Trial(method, settings=SETTINGS.get(name), random=name not in DETERMINISTIC)
        for name, method in METHODS.items()
    }


@pytest.mark.parametrize("check", CONTRACT)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_passes_every_check(name: str, check: str, trials: dict[str, Trial]) -> None:
    CONTRACT[check](trials[name])


def test_the_page_says_which_kinds_of_graphs_each_method_takes(trials: dict[str, Trial]) -> None:
    """Fitted models are those of the checks."""
    (table,) = re.findall(r"<!-- kinds -->\n(.*?)<!-- /kinds -->", PAGE.read_text("utf-8"), re.S)
    expected = {
        name: ["yes" if takes(trial.on(**kinds)) else "no" for kinds in KINDS]
        for name, trial in trials.items()
    }
    found: dict[str, list[str]] = {}
    for line in table.splitlines()[2:]:
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found |= dict.fromkeys(re.findall(r"`(.+?)`", names), cells)
    assert found == expected
