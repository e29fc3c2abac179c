"""What the causal model does, as a table that fits on a screen."""

from __future__ import annotations

import pytest

from fairgear.auditing.names import Names
from fairgear.causal import SyntheticSettings, for_graph, sample
from fairgear.causal.diagnostics import diagnose
from fairgear.report.sections.diagnostics import DiagnosticsSection, diagnostics_section


def section(groups: int) -> DiagnosticsSection:
    graph = sample(SyntheticSettings(n=60, groups=groups), seed=0)
    names = Names(tuple(f"colour {place}" for place in range(groups)))
    found = diagnose(for_graph(graph), graph, seed=0)
    return diagnostics_section(found, names, two_groups=graph.two_groups)


@pytest.mark.parametrize(("groups", "upright"), [(2, False), (5, False), (8, True)])
def test_many_worlds_are_rows(groups: int, upright: bool) -> None:
    assert section(groups).upright is upright


def test_worlds_of_several_groups_have_their_names() -> None:
    assert section(4).interventions[3:] == ("everybody colour 3", "evenly mixed")
    one, other, half = section(2).interventions
    assert (one, other) == ("everybody colour 0", "everybody colour 1")
    assert half == "half colour 0 and half colour 1"
