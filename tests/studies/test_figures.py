"""What the figures show, against numbers worked out by hand."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgear.errors import ParameterError
from fairgear.metrics import METRICS
from fairgear.studies.figures import (
    COLORS,
    encoder_figure,
    looks_of,
    save,
    sweep_figure,
    tradeoff_figure,
)

NAN = math.nan
# Student's t for 95 % with two degrees of freedom, from a printed table.
T2 = 4.302653


def summary(cells: dict[tuple[str, str], tuple[float, float]], **more: Any) -> pd.DataFrame:
    """Mean and half-width of each line and metric on Bail."""
    return pd.DataFrame(
        [
            {
                "dataset": "bail",
                "line": line,
                "metric": metric,
                "mean": mean,
                "std": half,
                "low": mean - half,
                "high": mean + half,
                "seeds": 1 if math.isnan(half) else 10,
                "published": NAN,
                "published_std": NAN,
            }
            for (line, metric), (mean, half) in cells.items()
        ]
    ).assign(**more)


def with_gid(axes: Axes, gid: str) -> list[Line2D]:
    return [line for line in axes.lines if line.get_gid() == gid]


def ends(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in np.asarray(line.get_xydata())]


def bars(axes: Axes) -> dict[str, BarContainer]:
    return {str(bar.get_label()): bar for bar in axes.containers if isinstance(bar, BarContainer)}


def tick_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


ENCODERS = summary(
    {
        ("GCN (paper)", "accuracy"): (0.8, 0.02),
        ("GCN (paper)", "auroc"): (0.9, NAN),
        ("GCN (paper)", "delta_cf"): (0.03, 0.05),
        ("GIN (paper)", "accuracy"): (0.7, 0.01),
        ("GIN (paper)", "auroc"): (NAN, NAN),
        ("GIN (paper)", "delta_cf"): (0.06, 0.01),
        ("JK (paper)", "accuracy"): (NAN, NAN),
        ("GIN (paper)", "delta_cf_self"): (0.5, 0.1),
    }
)


@cache
def encoders() -> Figure:
    return encoder_figure(ENCODERS)


class TestEncoders:
    def test_bars_stand_for_the_means_by_metric(self) -> None:
        prediction, fairness = encoders().axes
        assert tick_labels(prediction) == ["Accuracy", "AUROC"]
        assert tick_labels(fairness) == ["δCF (strict)"]
        heights = {
            line: [(round(bar.get_x() + bar.get_width() / 2), bar.get_height()) for bar in group]
            for line, group in bars(prediction).items()
        }
        assert heights == {"GCN (paper)": [(0, 0.8), (1, 0.9)], "GIN (paper)": [(0, 0.7)]}
        assert {line: group[0].get_height() for line, group in bars(fairness).items()} == {
            "GCN (paper)": 0.03,
            "GIN (paper)": 0.06,
        }

    def test_whiskers_are_deviations_kept_within_the_metric(self) -> None:
        prediction, fairness = encoders().axes
        spans = [[y for _, y in ends(line)] for line in with_gid(prediction, "whisker")]
        assert spans == [pytest.approx([0.78, 0.82]), pytest.approx([0.69, 0.71])]
        spans = [[y for _, y in ends(line)] for line in with_gid(fairness, "whisker")]
        assert spans == [pytest.approx([0.0, 0.08]), pytest.approx([0.05, 0.07])]

    def test_published_means_are_marked_on_their_own_bar(self) -> None:
        table = ENCODERS.assign(published=[0.85, *[NAN] * (len(ENCODERS) - 1)])
        figure = encoder_figure(table)
        (mark,) = with_gid(figure.axes[0], "published")
        bar = bars(figure.axes[0])["GCN (paper)"][0]
        assert ends(mark)[0] == pytest.approx((bar.get_x() + bar.get_width() / 2, 0.85))
        assert not with_gid(figure.axes[1], "published")
        assert legend_texts(figure) == ["GCN (paper)", "GIN (paper)", "published mean"]

    def test_a_line_keeps_its_colour_in_both_panels(self) -> None:
        prediction, fairness = (bars(axes) for axes in encoders().axes)
        colors = {line: to_hex(group[0].get_facecolor()) for line, group in prediction.items()}
        assert len(set(colors.values())) == 2
        for line, group in fairness.items():
            assert to_hex(group[0].get_facecolor()) == colors[line]

    def test_another_dataset_is_not_drawn_and_a_missing_one_refused(self) -> None:
        other = ENCODERS.assign(dataset="credit", line="elsewhere")
        figure = encoder_figure(pd.concat([other, ENCODERS]))
        assert legend_texts(figure) == ["GCN (paper)", "GIN (paper)"]
        with pytest.raises(ParameterError, match=r"'german'.*'bail'"):
            encoder_figure(ENCODERS, dataset="german")

    def test_a_panel_without_values_says_so(self) -> None:
        prediction, fairness = encoder_figure(summary({("GCN", "f1"): (0.5, NAN)})).axes
        assert [text.get_text() for text in fairness.texts] == ["no values"]
        assert not prediction.texts


def sweep_rows() -> pd.DataFrame:
    """Two settings, two values each, three seeds; AUROC of the first value is 0.7, 0.8, 0.9."""
    return pd.DataFrame(
        [
            {
                "sweep": sweep,
                "value": value,
                "own": value == own,
                "seed": seed,
                "auroc": 0.7 + 0.1 * seed - 0.1 * place,
                "accuracy": NAN if place else 0.6,
                "delta_cf": 0.01 * seed,
            }
            # The values come in any order.
            for sweep, values, own in (("λ", (0.6, 0.2), 0.6), ("k", (5.0, 20.0), 20.0))
            for place, value in enumerate(values)
            for seed in range(3)
        ]
    )


def curve(axes: Axes, name: str) -> list[tuple[float, float]]:
    (line,) = [line for line in axes.lines if line.get_label() == name]
    return [(x, round(y, 9)) for x, y in ends(line)]


@cache
def sweeps() -> Figure:
    return sweep_figure(sweep_rows())


class TestSweep:
    def test_curves_are_means_in_the_order_of_values(self) -> None:
        figure = sweeps()
        assert len(figure.axes) == 4
        above, _, below, _ = figure.axes
        assert curve(above, "auroc") == [(0.2, 0.7), (0.6, 0.8)]
        assert curve(above, "accuracy") == [(0.6, 0.6)]
        assert curve(below, "delta_cf") == [(0.2, 0.01), (0.6, 0.01)]
        assert curve(figure.axes[1], "auroc") == [(5.0, 0.8), (20.0, 0.7)]
        assert [axes.get_xlabel() for axes in figure.axes[2:]] == ["λ (3 seeds)", "k (3 seeds)"]
        assert tick_labels(below) == ["0.2", "0.6"]

    def test_bands_are_students_intervals_kept_within_the_metric(self) -> None:
        above, _, below, _ = sweeps().axes
        # The seeds' deviation is 0.1 around 0.7 at λ = 0.2: the upper end is beyond no bound.
        half = T2 * 0.1 / math.sqrt(3)
        band = np.asarray(above.collections[0].get_paths()[0].vertices)
        at = band[np.isclose(band[:, 0], 0.2), 1]
        assert at.min() == pytest.approx(0.7 - half, abs=1e-6)
        assert at.max() == pytest.approx(0.7 + half, abs=1e-6)
        at = np.asarray(below.collections[0].get_paths()[0].vertices)[:, 1]
        assert at.min() == 0.0  # 0.01 − T2 · 0.01 / √3 is negative
        assert at.max() == pytest.approx(0.01 + T2 * 0.01 / math.sqrt(3), abs=1e-6)

    def test_a_line_stands_at_the_methods_own_value(self) -> None:
        figure = sweeps()
        found = [curve(axes, "own")[0][0] for axes in figure.axes]
        assert found == [0.6, 20.0, 0.6, 20.0]

    def test_seeds_that_lack_a_value_do_not_bend_a_curve(self) -> None:
        rows = sweep_rows()
        figure = sweep_figure(rows[~((rows["value"] == 0.2) & (rows["seed"] == 2))])
        # Of seeds 0 and 1 alone; two are too few for a band. The other sweep keeps its three.
        assert curve(figure.axes[0], "auroc") == [(0.2, 0.65), (0.6, 0.75)]
        assert not figure.axes[0].collections
        assert curve(figure.axes[1], "auroc") == [(5.0, 0.8), (20.0, 0.7)]
        assert [axes.get_xlabel() for axes in figure.axes[2:]] == ["λ (2 seeds)", "k (3 seeds)"]
        apart = rows[(rows["value"] == 0.2) == (rows["seed"] == 2)]
        assert curve(sweep_figure(apart).axes[0], "auroc") == [(0.2, 0.8), (0.6, 0.75)]

    def test_a_single_seed_has_no_band(self) -> None:
        rows = sweep_rows()
        figure = sweep_figure(rows[rows["seed"] == 1])
        assert not any(axes.collections for axes in figure.axes)
        assert curve(figure.axes[0], "auroc") == [(0.2, 0.7), (0.6, 0.8)]

    def test_what_was_not_measured_is_left_out(self) -> None:
        above, _, below, _ = sweep_figure(sweep_rows().drop(columns="delta_cf")).axes
        assert [text.get_text() for text in below.texts] == ["no values"]
        assert not above.texts
        figure = sweeps()
        keys = [axes.get_legend() for axes in figure.axes]
        assert [[text.get_text() for text in key.get_texts()] for key in keys if key] == [
            ["AUROC", "Accuracy"],
            ["δCF (strict)"],
        ]

    def test_no_rows_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="no rows"):
            sweep_figure(sweep_rows().iloc[:0])


def tradeoff_table() -> pd.DataFrame:
    """A dial of three (listed out of order), a floor, and one whose AUROC is unknown."""
    cells = {
        "dial 1": (0.88, 0.02, 0.001),
        "dial 0": (0.90, 0.05, 0.02),
        "dial 0.5": (0.89, 0.03, 0.01),
        "logistic": (0.85, 0.0, 0.05),
        "lost": (NAN, 0.1, 0.1),
    }
    parts = []
    for line, (auroc, strict, released) in cells.items():
        own = {"auroc": (auroc, 0.01), "delta_cf": (strict, 0.02)}
        half = NAN if line == "logistic" else 0.002
        parts.append(
            summary(
                {(line, name): cell for name, cell in own.items()}
                | {(line, "delta_cf_released"): (released, half)},
                family="dial" if line.startswith("dial") else line,
                order={"dial 0": 0, "dial 0.5": 1}.get(line, 2),
                floor=line == "logistic",
            )
        )
    return pd.concat(parts, ignore_index=True)


def points(axes: Axes) -> dict[str, Line2D]:
    return {
        str(line.get_label()): line
        for line in axes.lines
        if line.get_gid() is None and len(ends(line)) == 1
    }


@cache
def tradeoffs() -> Figure:
    return tradeoff_figure(tradeoff_table(), dataset="bail")


class TestTradeoff:
    def test_points_stand_at_the_means(self) -> None:
        strict, released = tradeoffs().axes
        assert {line: ends(point)[0] for line, point in points(strict).items()} == {
            "dial 1": (0.02, 0.88),
            "dial 0": (0.05, 0.90),
            "dial 0.5": (0.03, 0.89),
            "logistic": (0.0, 0.85),
        }
        assert ends(points(released)["dial 1"]) == [(0.001, 0.88)]
        assert METRICS["delta_cf"].label in strict.get_xlabel()
        assert METRICS["delta_cf_released"].label in released.get_xlabel()

    def test_another_measure_may_take_the_place_of_the_flips(self) -> None:
        table = tradeoff_table()
        own = table[table["metric"] == "delta_cf"]
        more = own.assign(metric="r2", mean=2 * own["mean"])
        figure = tradeoff_figure(pd.concat([table, more]), dataset="bail", against=("r2",))
        (axes,) = figure.axes
        assert ends(points(axes)["dial 0"]) == [(0.1, 0.90)]
        assert METRICS["r2"].label in axes.get_xlabel()
        assert METRICS["r2"].label in figure.get_suptitle()

    def test_a_family_is_joined_in_its_order(self) -> None:
        for axes, metric in zip(
            tradeoffs().axes,
            ([0.05, 0.03, 0.02], [0.02, 0.01, 0.001]),
            strict=True,
        ):
            (joined,) = with_gid(axes, "family")
            assert ends(joined) == list(zip(metric, [0.90, 0.89, 0.88], strict=True))

    def test_whiskers_are_intervals_kept_within_the_metric(self) -> None:
        strict, released = tradeoffs().axes
        spans = [ends(line) for line in with_gid(strict, "whisker")]
        assert len(spans) == 8
        assert [(0.0, 0.85), (0.02, 0.85)] in spans
        assert [(0.0, 0.84), (0.0, 0.86)] in spans
        # A single seed of the floor gives no interval of its released δCF.
        assert len(with_gid(released, "whisker")) == 7

    def test_two_seeds_give_no_whiskers(self) -> None:
        for axes in tradeoff_figure(tradeoff_table().assign(seeds=2), dataset="bail").axes:
            assert with_gid(axes, "whisker") == []
            assert len(points(axes)) == 4

    def test_methods_without_a_graph_are_hollow(self) -> None:
        for axes in tradeoffs().axes:
            hollow = {
                line: point.get_markerfacecolor() == "white" for line, point in points(axes).items()
            }
            assert [line for line, empty in hollow.items() if empty] == ["logistic"]

    def test_each_line_is_named_in_the_legend_as_it_is_drawn(self) -> None:
        figure = tradeoffs()
        (legend,) = figure.legends
        assert legend_texts(figure) == ["dial 1", "dial 0", "dial 0.5", "logistic", "lost"]
        keys = dict(zip(legend_texts(figure), legend.legend_handles, strict=True))
        for line, point in points(figure.axes[0]).items():
            key = keys[line]
            assert isinstance(key, Line2D)
            assert (key.get_marker(), key.get_markeredgecolor(), key.get_markerfacecolor()) == (
                point.get_marker(),
                point.get_markeredgecolor(),
                point.get_markerfacecolor(),
            )

    def test_one_line_of_a_family_may_stand_for_all(self) -> None:
        for named, first in ((("dial 0",), "dial 0"), ((), "dial 1")):
            figure = tradeoff_figure(tradeoff_table(), dataset="bail", named=named)
            assert legend_texts(figure) == [first, "logistic", "lost"]
            drawn = points(figure.axes[0])
            assert len(drawn) == 4
            looks = {
                (drawn[line].get_marker(), drawn[line].get_markeredgecolor())
                for line in ("dial 0", "dial 0.5", "dial 1")
            }
            assert len(looks) == 1

    def test_a_missing_dataset_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="'credit'"):
            tradeoff_figure(tradeoff_table(), dataset="credit")

    def test_colours_are_the_families_and_no_two_lines_look_alike(self) -> None:
        families = {f"line {place}": f"alone {place}" for place in range(20)}
        families |= {f"dial {place}": "dial" for place in range(5)}
        looks = looks_of(families)
        assert len(set(looks.values())) == 25
        (dial,) = {color for line, (color, _) in looks.items() if line.startswith("dial")}
        assert dial not in {color for line, (color, _) in looks.items() if line.startswith("line")}
        assert {color for color, _ in looks.values()} == set(COLORS)


FIGURES = {
    "encoders": lambda: encoder_figure(ENCODERS),
    "sweep": lambda: sweep_figure(sweep_rows()),
    "tradeoff": lambda: tradeoff_figure(tradeoff_table(), dataset="bail"),
}


class TestSave:
    @pytest.mark.parametrize("name", FIGURES)
    def test_the_same_data_give_the_same_bytes(self, name: str, tmp_path: Path) -> None:
        first = save(FIGURES[name](), tmp_path / "first")
        # Nor do a user's own settings matter.
        with matplotlib.rc_context({"font.size": 20, "svg.fonttype": "none", "axes.linewidth": 7}):
            again = save(FIGURES[name](), tmp_path / "again")
        for one, other in zip(first, again, strict=True):
            assert one.read_bytes() == other.read_bytes()

    def test_both_kinds_are_written_and_nothing_else(self, tmp_path: Path) -> None:
        figure = FIGURES["encoders"]()
        before = dict(matplotlib.rcParams)
        # What follows a dot in the name is no suffix.
        svg, png = save(figure, tmp_path / "new" / "figure-0.5")
        assert dict(matplotlib.rcParams) == before
        assert sorted(path.name for path in svg.parent.iterdir()) == [png.name, svg.name]
        assert (png.name, svg.name) == ("figure-0.5.png", "figure-0.5.svg")
        text = svg.read_text(encoding="utf-8")
        assert "<title>Encoders on bail</title>" in text
        assert "<dc:date>" not in text
        assert "<text" not in text
