"""The people that the methods without a graph are tested on, and small models fitted on them."""

from __future__ import annotations

from typing import Any

import pytest

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.methods.baselines.tabular import (
    Boosting,
    Logistic,
    LogisticProjected,
    LogisticResidual,
    LogisticUnaware,
    Tabular,
)

LOGISTICS: list[type[Tabular]] = [Logistic, LogisticUnaware, LogisticResidual, LogisticProjected]
ALL: list[type[Tabular]] = [*LOGISTICS, Boosting]
every_method = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def people() -> SensitiveGraph:
    return fg.datasets.load("synthetic", n=300, threshold=0.3, a=0.05)


@pytest.fixture(scope="module")
def models(people: SensitiveGraph) -> dict[type[Tabular], Tabular]:
    """One fitted model of each; tests must leave them as they are."""
    return {kind: small(kind).fit(people) for kind in ALL}


def small(kind: type[Tabular], **settings: Any) -> Tabular:
    """A model that is fitted at once."""
    given = {"trees": 15} if kind is Boosting else {"C": 1.0}
    return kind(**(given | settings))
