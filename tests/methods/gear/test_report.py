"""The default generator, trained in full on the synthetic graph, against what is known of it."""

from __future__ import annotations

import fairgear as fg
from fairgear.auditing import generator_error
from fairgear.methods.gear.report import report_generator


def test_the_default_generator_finds_the_shift_and_hides_s() -> None:
    graph = fg.datasets.load("synthetic", seed=0)
    gear = fg.Gear(steps=1, device="cpu").fit(graph)
    report = report_generator(gear, graph)
    assert report is not None
    assert generator_error(gear, graph).feature_error <= 0.10
    assert report.sens_from_h <= report.base_rate + 0.05
    assert report.self_features_moved > 1
