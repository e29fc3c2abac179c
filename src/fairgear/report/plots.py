"""The figures of an audit, as matplotlib figures for notebooks and papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgear.auditing import Audit
from fairgear.errors import ParameterError
from fairgear.metrics import EVERY_METRIC, UNDEFINED, Interval
from fairgear.report.numbers import group_words, level_of
from fairgear.report.world_words import world_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of the highest rate: below it the US guidelines on selection of 1978 see adverse impact.
FOUR_FIFTHS = 0.8
# What the height of the trade-off can be, by kind of label.
_HEIGHTS = {"binary": ("auroc", "accuracy", "f1"), "regression": ("r2_prediction",)}
_HEIGHTS["multiclass"] = ("auroc", "accuracy", "macro_f1")


@dataclass(frozen=True)
class Plots:
    """`audit.plot`: each method gives a figure, which a notebook shows and `savefig` writes.

    matplotlib is loaded with the first figure, and no window is opened.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> audit.plot.flips().savefig("flips.png")
    """

    audit: Audit

    def flips(self) -> Figure:
        """The share of answers that change in each world, with its interval."""
        from fairgear.report.drawing import BLUE, SOFT, drawing, plain_text, tidy

        audit = self.audit
        rows = [row for row in audit.flips if row.protocol == "strict"]
        if not rows:
            got, step = "an audit without worlds", "audit with a causal model"
            raise ParameterError("audit.plot.flips()", got, "one with flips", step)
        figure = drawing(6.4, 0.9 + 0.32 * len(rows), f"{audit.model.name}: answers that change")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            _whisker(axes, row.rate, row.interval, place, BLUE)
            axes.plot(row.rate, place, "o", color=BLUE, markersize=6, clip_on=False)
        names = [
            world_words(row.intervention, audit.names, two_groups=audit.two_groups) for row in rows
        ]
        axes.set_yticks(range(len(rows)), [plain_text(name) for name in names])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(left=0)
        _percent(axes.xaxis)
        axes.set_ylabel("what is set or changed", fontsize=8.5, color=SOFT)
        axes.set_xlabel(f"share of answers, with its {_level(audit)}", fontsize=8.5, color=SOFT)
        tidy(axes)
        return figure

    def groups(self) -> Figure:
        """How each group fares, with intervals.

        Of two classes the share that gets answer 1, beside four fifths of the highest share; of
        several the share of each answer; of numbers the mean prediction.
        """
        from fairgear.report.drawing import BLUE, ORANGE, SOFT, drawing, plain_text, tidy

        audit = self.audit
        groups = [group for group in audit.groups if group.count]
        keys = ["selection_rate"] if audit.target.is_binary else list(groups[0].figures)
        keys = ["mean prediction"] if audit.target.is_number else keys
        figure = drawing(
            1.6 + 4.8 * min(len(keys), 3),
            0.6 + (0.7 + 0.32 * len(groups)) * math.ceil(len(keys) / 3),
            f"{audit.model.name}: groups",
        )
        panels = figure.subplots(
            math.ceil(len(keys) / 3), min(len(keys), 3), sharey=True, squeeze=False
        ).ravel()
        for axes, key in zip(panels, keys, strict=False):
            values = [group.value(key) for group in groups]
            for place, group in enumerate(groups):
                _whisker(axes, values[place], group.intervals.get(key, UNDEFINED), place, BLUE)
                axes.plot(values[place], place, "o", color=BLUE, markersize=6)
            if audit.target.is_binary:
                line = FOUR_FIFTHS * max(values)
                axes.axvline(line, color=ORANGE, linestyle="--", linewidth=1.3)
                words = "four fifths of the highest"
                axes.set_title(f"dashed: {words}", fontsize=8.5, color=ORANGE, loc="left")
            else:
                axes.set_title(plain_text(key), fontsize=9, color=SOFT, loc="left")
            if not audit.target.is_number:
                axes.set_xlim(left=0)
                _percent(axes.xaxis)
            axes.set_ylim(len(groups) - 0.5, -0.5)
            tidy(axes)
        for axes in panels[len(keys) :]:
            axes.set_visible(False)
        names = [
            plain_text(f"{group_words(group.group, audit.names)} ({group.count:,})")
            for group in groups
        ]
        panels[0].set_yticks(range(len(groups)), names)
        what = "share that gets answer 1"
        if len(audit.names.classes) == 2 and audit.target.is_binary:
            what = f"share that gets {audit.names.classes[1]}"
        what = what if audit.target.is_binary else "by group"
        label = plain_text(f"{what}, with its {_level(audit)}")
        panels[0].set_xlabel(label, fontsize=8.5, color=SOFT)
        return figure

    def tradeoff(self, *, against: Sequence[Audit] = (), metric: str | None = None) -> Figure:
        """How right the model is against how many answers change; upwards and left is better.

        Args:
            against: other models, audited on the same worlds.
            metric: the height: "auroc", "accuracy" or "f1"; of several classes "macro_f1", of
                numbers "r2_prediction". The first of these that is known if not given.

        Crosses are the references: a model that copies the attribute, and one that gives everybody
        the same answer.
        """
        from fairgear.report.drawing import GREY, SERIES, SHAPES, SOFT, drawing, plain_text, tidy

        audits = [self.audit, *against]
        if any(one.setup.worlds != self.audit.setup.worlds for one in audits):
            got, step = "audits on other worlds", "audit all with the same graph, draws and seed"
            raise ParameterError("against", got, "audits on the same worlds", step)
        height = self._height(metric)
        figure = drawing(6.4, 4.2, f"{self.audit.setup.dataset}: right answers against changes")
        axes = figure.subplots()
        for place, one in enumerate(audits):
            x, y = (one.metrics.get(key, math.nan) for key in ("delta_cf", height))
            color, shape = SERIES[place % len(SERIES)], SHAPES[place % len(SHAPES)]
            _whisker(axes, x, one.intervals.get("delta_cf", UNDEFINED), y, color, 1.6)
            ends = one.intervals.get(height, UNDEFINED)
            if ends.defined:
                axes.plot([x, x], [ends.low, ends.high], color=color, linewidth=1.6, alpha=0.5)
            name = plain_text(one.model.name)
            axes.plot(x, y, shape, color=color, markersize=8, linestyle="none", label=name)
        marks = {"copying": ("x", "copies the attribute"), "constant": ("+", "the same for all")}
        known = self.audit.references
        for which, (shape, words) in marks.items():
            found = [
                getattr(known[k], which) if k in known else math.nan for k in ("delta_cf", height)
            ]
            if not any(map(math.isnan, found)):
                style: dict[str, Any] = {"color": GREY, "markersize": 9, "markeredgewidth": 2}
                axes.plot(*found, shape, linestyle="none", label=words, **style)
        axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
        _percent(axes.xaxis)
        axes.set_xlabel(
            f"answers that change in other worlds, {EVERY_METRIC['delta_cf'].label}",
            fontsize=8.5,
            color=SOFT,
        )
        axes.set_ylabel(EVERY_METRIC[height].label, fontsize=8.5, color=SOFT)
        axes.legend(fontsize=8, frameon=False)
        tidy(axes, grid="both")
        return figure

    def ego(self, person: int | str, *, own: str | None = None) -> Figure:
        """A person and their surroundings, as they are and as they would be.

        Args:
            person: the id, or the name where ids are not whole numbers, of one of those whom
                `audit.what_if` has.
            own: the value that their own attribute is set to, as `audit.what_if.own` names it; if
                not given the first with another answer, else the first.
        """
        from fairgear.report.ego_figure import ego_figure

        return ego_figure(self.audit, person, own)

    def _height(self, metric: str | None) -> str:
        allowed = _HEIGHTS[self.audit.target.kind]
        if metric is not None and metric not in allowed:
            raise ParameterError("metric", repr(metric), ", ".join(allowed), "choose one of them")
        known = [k for k in allowed if not math.isnan(self.audit.metrics.get(k, math.nan))]
        return metric or (known or list(allowed))[0]


def _whisker(
    axes: Axes, value: float, ends: Interval, height: float, color: str, width: float = 2.4
) -> None:
    if ends.defined and not math.isnan(value):
        axes.plot([ends.low, ends.high], [height, height], color=color, linewidth=width, alpha=0.5)


def _percent(axis: object) -> None:
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(xmax=1, symbol=" %"))  # type: ignore[attr-defined]


def _level(audit: Audit) -> str:
    return f"{level_of(audit.setup.level)} % interval"
