"""The generator, trained on the synthetic graph, against what is known of it."""

from __future__ import annotations

import fairgear as fg
from fairgear.auditing import generator_error
from fairgear.methods.gear_paper.report import report_generator


def test_four_hundred_steps_of_the_default_generator_find_the_shift_and_hide_s() -> None:
    graph = fg.datasets.load("synthetic", seed=0)
    gear = fg.Gear(steps=1, generator={"steps": 400}, device="cpu").fit(graph)
    report = report_generator(gear, graph)
    assert report is not None
    assert generator_error(gear, graph).feature_error <= 0.10
    assert report.sens_from_h <= report.base_rate + 0.05
    assert report.self_features_moved > 1
