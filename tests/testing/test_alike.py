"""assert_alike measures what its bounds need, and says what is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairgear import audit
from fairgear.auditing import Worlds
from fairgear.errors import FairgearError
from fairgear.testing import NotAlikeError, SharedWorlds, assert_alike
from tests.auditing.models import Constant, CopiesSens, Features, small_graph

GRAPH = small_graph(80)


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(GRAPH)


def test_it_measures_what_an_audit_does_and_no_more(worlds: Worlds) -> None:
    whole = audit(Features(), worlds)
    value = whole.metrics["delta_cf_max"]
    found = assert_alike(Features(), worlds, delta_cf_max=value)
    assert found.metrics["delta_cf_max"] == value
    assert found.intervals["delta_cf_max"] == whole.intervals["delta_cf_max"]
    assert found.setup.self_people == 0
    assert (found.probes, found.affected, found.what_if) == (None, (), None)
    with pytest.raises(NotAlikeError):
        assert_alike(Features(), worlds, delta_cf_max=value - 1e-6)
    alone = assert_alike(Features(), worlds, delta_cf_self=1, nodes=GRAPH.val_mask)
    assert alone.causal_models is None
    assert alone.setup.self_people == alone.setup.people == int(GRAPH.val_mask.sum())


@pytest.mark.parametrize(("metric", "worse", "better"), [("delta_cf", 1, 0), ("accuracy", 0, 1)])
def test_ends_of_the_interval(worlds: Worlds, metric: str, worse: int, better: int) -> None:
    ends = tuple(audit(Features(), worlds, other_causal_models=False).intervals[metric])
    toward = 1e-6 if worse == 0 else -1e-6
    for by, end in (("worse end", ends[worse]), ("better end", ends[better])):
        options: dict[str, Any] = {"by": by, metric: end}
        assert_alike(Features(), worlds, **options)
        with pytest.raises(NotAlikeError, match="er end allowed at "):
            assert_alike(Features(), worlds, **{**options, metric: end + toward})


def test_the_message_and_the_page(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(NotAlikeError) as caught:
        assert_alike(CopiesSens(), GRAPH, name="mine", delta_cf=0.05, f1=0, page=page, draws=1)
    failure = caught.value
    said = str(failure)
    assert said.startswith("mine breaks 1 of 2 bounds on 16 people of synthetic.")
    low, high = failure.audit.intervals["delta_cf"]
    shown = failure.audit.metrics["delta_cf"]
    assert f"{shown:.3f} (95 % interval {low:.3f} to {high:.3f}); allowed at most 0.05" in said
    flips = failure.audit.people["flip_strict_average_over_rates"]
    assert f"{int((flips > 0).sum())} people get another answer" in said
    most = failure.audit.people["node_id"][flips == flips.max()]
    named = [int(line.split()[1]) for line in said.splitlines() if "    person " in line]
    assert len(named) == 5
    assert set(named[: len(most)]) <= set(most)
    assert failure.page == page
    assert failure.__notes__ == [f"The page: {page}"]
    assert "mine" in page.read_text(encoding="utf-8")


def test_what_is_undefined_is_not_within_bounds() -> None:
    with pytest.raises(NotAlikeError, match=r"undefined.*BROKEN \(auroc\)"):
        assert_alike(Constant(), GRAPH, nodes=(GRAPH.y == 1), auroc=0.5, draws=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "no bound"),
        ({"delta_cf_mx": 0.1}, "did you mean 'delta_cf_max'"),
        ({"delta_cf": 5}, "write 5 % as 0.05"),
        ({"delta_cf": 0.1, "by": "high"}, "'worse end'"),
    ],
)
def test_bounds_that_are_none(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(FairgearError, match=words):
        assert_alike(Constant(), GRAPH, **arguments)


def test_worlds_are_shared_by_content() -> None:
    shared = SharedWorlds()
    assert shared(GRAPH) is shared(small_graph(80))
    assert shared(GRAPH) is not shared(GRAPH, seed=1)
    assert shared(GRAPH) is not shared(GRAPH, draws=1)
    assert shared(GRAPH) is not shared(small_graph(80, seed=1))
