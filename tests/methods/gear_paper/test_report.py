"""The generator, trained on the synthetic graph, against what is known of it."""

from __future__ import annotations

import pytest

import fairgear as fg
from fairgear.auditing import generator_error
from fairgear.methods.gear_paper.report import report_generator
from tests.methods.gear_paper.tiny import tiny


@pytest.mark.parametrize("way", ["abduction", "decoder"])
def test_four_hundred_steps_of_the_generator_learn_what_s_does(way: str) -> None:
    graph = fg.datasets.load("synthetic", seed=0)
    settings = {"steps": 400, "counterfactuals": way}
    gear = tiny(steps=1, k=20, generator=settings).fit(graph)
    report = report_generator(gear, graph)
    assert report is not None
    error = generator_error(gear, graph)
    # The decoder's output also loses what it cannot rebuild of a person.
    assert (error.feature_error <= 0.3) == (way == "abduction")
    assert report.self_features_moved > 1
    assert report.shift_norm > 1


@pytest.mark.parametrize("variant", ["np", "nc"])
def test_without_a_vae_there_is_no_report(variant: str, graph: fg.SensitiveGraph) -> None:
    assert report_generator(tiny(variant=variant, steps=1).fit(graph), graph) is None
