from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.auditing.measures import GroupSummary, collecting, sentence, summarise_groups
from fairgear.auditing.people import People
from fairgear.auditing.records import from_json
from fairgear.errors import UndefinedMetricWarning
from fairgear.files import json_ready
from fairgear.metrics import rate_interval
from fairgear.metrics.inputs import Floats, Integers

SHARES = ["selection_rate", "true_positive_rate", "accuracy", "delta_cf"]
Columns = tuple[Integers, Integers, Integers, Integers, Floats]


def people(n: int, seed: int) -> Columns:
    """y (some unknown), labels, sens, communities and flip shares of some people."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-1, 2, n),
        rng.integers(0, 2, n),
        rng.integers(0, 2, n),
        rng.integers(0, 5, n),
        rng.choice([0.0, 1 / 3, 1.0], n),
    )


def known(y: Integers, sens: Integers, clusters: Integers) -> People:
    return People(y, sens, clusters, clusters, around=np.zeros(len(y)))


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


@given(st.integers(1, 30), st.integers(0, 10**6))
def test_shares_by_loops(n: int, seed: int) -> None:
    y, labels, sens, clusters, flips = people(n, seed)
    found = summarise_groups(known(y, sens, clusters), labels, flips, level=0.9)
    assert [group.group for group in found] == [0, 1]
    for group in found:
        members = [i for i in range(n) if sens[i] == group.group]
        labelled = [i for i in members if y[i] >= 0]
        positive = [i for i in members if y[i] == 1]
        assert (group.count, group.labelled, group.positives) == (
            len(members),
            len(labelled),
            len(positive),
        )
        assert group.selected == sum(int(labels[i]) for i in members)
        expected = {
            "selection_rate": mean([float(labels[i]) for i in members]),
            "true_positive_rate": mean([float(labels[i]) for i in positive]),
            "accuracy": mean([float(labels[i] == y[i]) for i in labelled]),
            "delta_cf": mean([float(flips[i]) for i in members]),
        }
        for name, value in expected.items():
            got, interval = getattr(group, name), group.intervals[name]
            assert got == pytest.approx(value, nan_ok=True)
            assert interval.defined != math.isnan(value)
            assert math.isnan(value) or interval.low - 1e-9 <= got <= interval.high + 1e-9


def test_the_interval_is_that_of_the_members_in_their_communities() -> None:
    y, labels, sens, clusters, flips = people(200, 1)
    for level in (0.5, 0.95):
        (_, one) = summarise_groups(known(y, sens, clusters), labels, flips, level=level)
        member = sens == 1
        assert one.intervals["delta_cf"] == rate_interval(
            flips[member], clusters[member], level=level
        )


def test_without_flips_their_share_is_undefined() -> None:
    y, labels, sens, clusters, _ = people(40, 2)
    for group in summarise_groups(known(y, sens, clusters), labels, None, level=0.95):
        assert math.isnan(group.delta_cf)
        assert not group.intervals["delta_cf"].defined
        assert group.intervals["accuracy"].defined


def test_to_json_and_back() -> None:
    y, labels, _, clusters, flips = people(20, 3)
    everyone = summarise_groups(known(y, np.ones(20, int), clusters), labels, flips, level=0.95)
    for group in everyone:
        text = json.dumps(json_ready(group), allow_nan=False)
        found = json.loads(text)
        assert set(found["intervals"]) == set(SHARES)
        assert json.dumps(json_ready(from_json(GroupSummary, found)), allow_nan=False) == text
    nobody, all_of_them = everyone
    assert nobody.count == 0
    assert math.isnan(from_json(GroupSummary, json_ready(nobody)).accuracy)
    assert from_json(GroupSummary, json_ready(all_of_them)) == all_of_them


def test_undefined_measures_become_notes_once() -> None:
    notes: list[str] = []
    with collecting(notes):
        for _ in range(2):
            warnings.warn("an interval is undefined: why", UndefinedMetricWarning, stacklevel=1)
    assert notes == ["An interval is undefined: why."]


def test_other_warnings_stay_warnings() -> None:
    notes: list[str] = []
    with pytest.warns(UserWarning, match="something else"), collecting(notes):
        warnings.warn("something else", UserWarning, stacklevel=1)
    assert notes == []


def test_symbols_stay_as_they_are() -> None:
    assert sentence("δCF is undefined") == "δCF is undefined."
