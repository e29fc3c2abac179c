"""What the causal model does, as a table that fits on a screen."""

from __future__ import annotations

import pytest

from fairgear.auditing.result import Names
from fairgear.causal import SyntheticSettings, for_graph, sample
from fairgear.causal.diagnostics import diagnose
from fairgear.report.sections.diagnostics import DiagnosticsSection, diagnostics_section


def section(groups: int) -> DiagnosticsSection:
    graph = sample(SyntheticSettings(n=60, groups=groups), seed=0)
    names = Names(tuple(f"colour {place}" for place in range(groups)))
    return diagnostics_section(diagnose(for_graph(graph), graph, seed=0), names)


@pytest.mark.parametrize(("groups", "upright"), [(2, False), (5, False), (8, True)])
def test_many_worlds_are_rows(groups: int, upright: bool) -> None:
    assert section(groups).upright is upright


def test_worlds_of_several_groups_have_their_names() -> None:
    assert "group 3, colour 3" in section(4).interventions
    assert section(2).interventions[0] == "everybody is 0"
