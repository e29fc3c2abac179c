"""Audit: the one result. What was measured of a model, saved and loaded whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pandas as pd

from fairgear.auditing.affected import Affected
from fairgear.auditing.comparison import Comparison, compare_people
from fairgear.auditing.conditions import Condition
from fairgear.auditing.effects import COUNTERFACTUAL, FlipRow
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.ll144 import ll144_table
from fairgear.auditing.measures import labelled_metrics
from fairgear.auditing.names import Names
from fairgear.auditing.people_csv import write_people_csv
from fairgear.auditing.probes import Probes
from fairgear.auditing.provenance import Provenance
from fairgear.auditing.records import from_json
from fairgear.auditing.references import Reference
from fairgear.auditing.sensitivity import Dose, Sensitivity
from fairgear.auditing.sums import SUMS, check_sums, write_sums
from fairgear.auditing.unknown import UnknownPeople
from fairgear.auditing.what_if import WhatIf
from fairgear.causal import Diagnostics
from fairgear.datasets import GraphStatistics
from fairgear.documents import json_of
from fairgear.errors import FileError, ParameterError
from fairgear.files import json_ready, json_text, replacing, write_text, writes
from fairgear.graph.targets import BINARY, Target, is_known
from fairgear.metrics import Interval, rate_interval
from fairgear.metrics.ratios import RateTest
from fairgear.reading import DAMAGE
from fairgear.training import History

if TYPE_CHECKING:
    from fairgear.report import Plots

FORMAT = 4
# The files of a saved audit.
RESULTS, PEOPLE, PEOPLE_CSV = "audit.json", "people.parquet", "people.csv"
UNKNOWN_NOTE = (
    "Unknown sensitive attributes have the values of the first completion in ΔDP, ΔEO and R² here, "
    "and flips are means over the completions; intervals do not contain what differs between them."
)


@dataclass(frozen=True)
class ModelInfo:
    """The audited model: its name, what kind of thing it is, and above which score it gives 1.

    The threshold is NaN where labels are not of two classes.
    """

    name: str
    kind: str
    threshold: float


@dataclass(frozen=True)
class Setup:
    """How the audit was made.

    Attributes:
        dataset: name of the graph.
        people: how many were audited.
        draws: worlds for each random intervention.
        seed: of the draws.
        level: of the intervals.
        self_people: how many *self* was measured on.
        causal_model: name of the causal model; None without one.
        worlds: fingerprint of the worlds; audits with the same one can be compared.
        graph: fingerprint of the graph as it is; empty in audits of older versions.
    """

    dataset: str
    people: int
    draws: int
    seed: int
    level: float
    self_people: int
    causal_model: str | None
    worlds: str
    graph: str = ""


@dataclass(frozen=True)
class Training:
    """How the model was trained: the history of each stage, and the quality of its generator.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.auditing import Training
        >>> from fairgear.testing import toy_graph
        >>> gear = fg.Gear(steps=20, dim=8).fit(toy_graph())
        >>> training = Training(history=gear.history_, generator=None)
        >>> training.history["network"].training[-1]["step"]
        20
    """

    history: dict[str, History] = field(repr=False)
    generator: dict[str, float] | None


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What a model does to people, and what it would do had they been of another group.

    Attributes:
        model: name, kind and threshold of the audited model.
        setup: on what graph and with which draws.
        metrics: by the names of `fairgear.metrics.EVERY_METRIC`; NaN where undefined.
        intervals: the same keys.
        flips: one row for each protocol and intervention; none without a causal model.
        groups: one row for each group; of a number, for each of its five ranges.
        margins: the same for each value of each attribute, where several are crossed, and for the
            people whose attribute is unknown.
        rate_tests: that selection rates are equal, of all groups and by attribute; of labels of two
            classes, among the people whose attribute is known.
        probes: what the model reads; None where that was not tested.
        causal_models: δCF under a family of causal models, and its bounds; None where that was
            not measured.
        dose: δCF by the share of the groups' difference that the attribute causes; None likewise.
        affected: the people whom the attribute affects most, and the neighbours who matter to
            them.
        diagnostics: what the causal model does to the graph; None without one.
        graph: counts of the graph.
        names: what the data call the groups and the classes.
        notes: sentences to read with the numbers, the most important first.
        people: one row for each person, by node id: `node_id` (and `node_name`, where ids are not
            whole numbers), `y sens`, `community` and `region` (the clusters of the intervals),
            `around` (mean s of the person and their neighbours; of several groups the share of
            each but the first, `around_1` and so on), `score label`, for each
            intervention `score_…` (mean over the draws) and `flip_…` (share of the draws in which
            the label flips), NaN where it was not measured, and `neighbors_that_matter`. Of several
            groups, `other_group` is the one that *self* puts the person in; of a number,
            `other_sens` is the value, and `band` and `other_band` are the ranges of both.
        comparison: with another model on the same worlds, if there was one.
        against: the figures of that model, without its people.
        training: how the model was trained, where that was part of the run.
        config: the settings of the command, empty in Python.
        provenance: versions, data and cost, where they were recorded.
        target: what is predicted: classes or a number.
        unknown: people whose attribute is unknown, where there are any; then figures are means
            over completions, and the table of people has `sens_known`.
        what_if: some people in other worlds, one by one; None where that was not computed.
        references: by metric, what a copy of the attribute and a constant answer would measure.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> def score(world):
        ...     return (world.x[:, 0] + world.sens).sigmoid()
        >>> audit = fg.audit(score, toy_graph(), what_if_people=0)
        >>> round(audit.metrics["delta_cf"], 2), audit.probes.sens
        (0.16, True)
        >>> len(audit.failures("delta_cf > 0.05"))
        1
        >>> audit.save_html("audit.html")
    """

    model: ModelInfo
    setup: Setup
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    flips: tuple[FlipRow, ...]
    groups: tuple[GroupSummary, ...]
    probes: Probes | None
    causal_models: Sensitivity | None
    dose: Dose | None
    affected: tuple[Affected, ...]
    diagnostics: Diagnostics | None
    graph: GraphStatistics
    names: Names
    notes: tuple[str, ...]
    people: pd.DataFrame
    comparison: Comparison | None = None
    training: Training | None = None
    config: dict[str, Any] = field(default_factory=dict)
    provenance: Provenance | None = None
    target: Target = BINARY
    unknown: UnknownPeople | None = None
    what_if: WhatIf | None = None
    references: dict[str, Reference] = field(default_factory=dict)
    margins: tuple[GroupSummary, ...] = ()
    rate_tests: tuple[RateTest, ...] = ()
    against: Audit | None = None

    def __repr__(self) -> str:
        shown = ("accuracy", "auroc", "rmse", "delta_cf", "delta_cf_max", "r2")
        known = [key for key in shown if key in self.metrics]
        figures = ", ".join(f"{key} {self.metrics[key]:.4f}" for key in known)
        return (
            f"Audit({self.model.name!r} on {self.setup.dataset!r}, {self.setup.people:,} people: "
            f"{figures})"
        )

    def _repr_html_(self) -> str:
        shown: str = _report().audit_html(self)
        return shown

    @property
    def plot(self) -> Plots:
        """Figures with matplotlib: `audit.plot.flips()`, `.groups()`, `.tradeoff()`, `.ego(id)`."""
        plots: Plots = _report().Plots(self)
        return plots

    @property
    def two_groups(self) -> bool:
        """Whether everybody is in one of two groups, audited or not."""
        return math.isfinite(self.graph.sensitive_rate)

    def self_flips(self) -> pd.DataFrame:
        """The share whose answer changes with their own group, from each group (rows) to each.

        NaN where nobody was asked. It needs several groups: of two, there is one other for each. Of
        a number, from each of its ranges to each. Of people whose attribute is known.
        """
        asked, own, other = self._asked_alone()
        groups = [one.group for one in self.groups]
        found = asked.pivot_table("flip_strict_self", own, other, aggfunc="mean")
        return found.reindex(index=groups, columns=groups)

    def self_intervals(self) -> dict[tuple[int, int], Interval]:
        """The intervals of `self_flips`, each by itself, of the cells in which somebody is."""
        asked, own, other = self._asked_alone()

        def interval(people: pd.DataFrame) -> Interval:
            flips, clusters, regions = (
                people[key].to_numpy() for key in ("flip_strict_self", "community", "region")
            )
            return rate_interval(flips, clusters, level=self.setup.level, regions=regions)

        groups = [one.group for one in self.groups]
        cells = {
            (a, b): asked[(asked[own] == a) & (asked[other] == b)] for a in groups for b in groups
        }
        return {place: interval(people) for place, people in cells.items() if len(people)}

    def _asked_alone(self) -> tuple[pd.DataFrame, str, str]:
        """The people of *self* whose attribute is known, and the columns of both groups."""
        asked = self.people.dropna(subset=["flip_strict_self"])
        if "sens_known" in asked:
            asked = asked[asked["sens_known"]]
        return asked, *(("band", "other_band") if "band" in asked else ("sens", "other_group"))

    def to_frame(self) -> pd.DataFrame:
        """Everything that has an interval, one row each: `part name value low high people`.

        The parts are "metric", "flips" (by protocol and intervention), "group" (number and share),
        "margin" (attribute, number and share), "causal model" (δCF under each) and "dose" (δCF at
        each).
        """
        everyone = len(self.people)
        counts = dict.fromkeys(self.metrics, everyone)
        labelled = labelled_metrics(self.target)
        counts |= dict.fromkeys(labelled, int(is_known(self.people["y"].to_numpy()).sum()))
        if self.target.is_binary:
            counts["delta_eo"] = int((self.people["y"] == 1).sum())
        measured = {row.key: row.people for row in self.flips}
        counts |= {
            key: measured.get(where, 0) for key, where in COUNTERFACTUAL.items() if key in counts
        }
        rows: list[tuple[Any, ...]] = [
            ("metric", key, value, *self.intervals[key], counts[key])
            for key, value in self.metrics.items()
        ]
        rows += [
            ("flips", f"{row.protocol} {row.intervention}", row.rate, *row.interval, row.people)
            for row in self.flips
        ]
        for part, groups in (("group", self.groups), ("margin", self.margins)):
            rows += [
                (
                    part,
                    f"{one.attribute} {one.group} {key}".strip(),
                    one.value(key),
                    *ends,
                    one.people(key),
                )
                for one in groups
                for key, ends in one.intervals.items()
            ]
        others = () if self.causal_models is None else self.causal_models.rows
        rows += [("causal model", row.model, row.rate, *row.interval, everyone) for row in others]
        doses = () if self.dose is None else self.dose.points
        rows += [("dose", f"{p.share:g}", p.rate, *p.interval, everyone) for p in doses]
        return pd.DataFrame(rows, columns=["part", "name", "value", "low", "high", "people"])

    def ll144(self) -> pd.DataFrame:
        """The tables that New York City's Local Law 144 asks for, one row for each category.

        Columns: `categories` (an attribute, or all of them crossed), `category`, `answer`,
        `applicants`, `share` (of the people whose category is known), `selected`, `selection_rate`,
        `impact_ratio`; `above_median`, `scoring_rate` and `scoring_impact_ratio`, of the people
        whose score is above the median; and `excluded`, why there is no impact ratio. People of
        unknown category are counted in the last rows. See 6 RCNY § 5-301.
        """
        return ll144_table(self.people, self.names, self.target)

    def compare(self, other: Audit, *, level: float | None = None) -> Comparison:
        """This model against another one, person by person, in the same worlds.

        Args:
            other: the other model's audit.
            level: of the intervals; that of this audit if not given.
        """
        if not (self.target.is_binary and other.target.is_binary):
            got, allowed = f"labels of {self.target.words}", "labels of two classes"
            step = "read the two audits side by side"
            raise ParameterError("two audits to compare", got, allowed, step)
        if self.setup.worlds != other.setup.worlds:
            got = "audits on different graphs, causal models, draws or seeds"
            step = "audit both with the same graph, causal_model, draws and seed"
            allowed = "audits on the same counterfactuals"
            raise ParameterError("two audits to compare", got, allowed, step)
        found = compare_people(
            self.people,
            other.people,
            names=(self.model.name, other.model.name),
            level=self.setup.level if level is None else level,
            seed=self.setup.seed,
        )
        if self.unknown is None:
            return found
        return replace(found, notes=(UNKNOWN_NOTE, *found.notes))

    def compared(self, other: Audit, *, level: float | None = None) -> Audit:
        """This audit with `compare(other)` and the other's figures: its page then shows both."""
        bare = replace(
            other,
            people=pd.DataFrame(),
            affected=(),
            what_if=None,
            diagnostics=None,
            training=None,
            comparison=None,
            against=None,
        )
        return replace(self, comparison=self.compare(other, level=level), against=bare)

    def failures(self, *conditions: str) -> list[str]:
        """A sentence for each condition, such as "delta_cf > 0.05", that this audit meets."""
        parsed = [Condition.parse(text) for text in conditions]
        found = [condition.failure(self.metrics, self.intervals) for condition in parsed]
        return [sentence for sentence in found if sentence is not None]

    def turning_points(self, *conditions: str) -> list[str]:
        """For each bound on δCF, the dose from which it is exceeded, as a sentence."""
        if self.dose is None:
            return []
        dose, parsed = self.dose, [Condition.parse(text) for text in conditions]
        found = [condition.turning_point(dose) for condition in parsed]
        return [sentence for sentence in found if sentence is not None]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without `people`; None where undefined."""
        names = [item.name for item in fields(self) if item.name not in ("people", "against")]
        found = {name: json_ready(getattr(self, name)) for name in names}
        other = None if self.against is None else self.against.to_dict()
        return {"format": FORMAT, **found, "against": other}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], people: pd.DataFrame) -> Audit:
        """From what `to_dict` gave and the table of people; an error where it is anything else."""
        if data["format"] != FORMAT:
            raise ValueError("an audit of another format")
        found, other = from_json(cls, {**data, "people": people, "against": None}), None
        if data.get("against") is not None:
            other = cls.from_dict(data["against"], pd.DataFrame())
        return replace(found, against=other)

    def save(self, folder: Path | str, *, beside: Sequence[str] = ()) -> None:
        """Write the people, the hashes of all files and, once these are complete, `audit.json`.

        Args:
            folder: to write to.
            beside: other files in it, which are complete, to be listed with their hashes.
        """
        folder = Path(folder)
        # Thousands of worlds: a number a line would be three times as large.
        results = json_text(self.to_dict(), dense=("what_if",))
        if writes():
            for name in (RESULTS, SUMS):
                (folder / name).unlink(missing_ok=True)
        with replacing(folder / PEOPLE, private=True) as temporary:
            self.people.to_parquet(temporary, index=False)
        write_people_csv(self.people, self.names, folder / PEOPLE_CSV)
        if writes():
            write_sums(folder, (PEOPLE, PEOPLE_CSV, *beside), {RESULTS: results})
        write_text(folder / RESULTS, results, private=True)

    @classmethod
    def load(cls, folder: Path | str, *, people: bool = True) -> Audit:
        """Read what `save` wrote; without `people`, their table is left empty."""
        folder = Path(folder)
        try:
            names = (RESULTS, PEOPLE) if people else (RESULTS,)
            contents = {name: (folder / name).read_bytes() for name in names}
            check_sums(folder, contents)
            table = pd.read_parquet(BytesIO(contents[PEOPLE])) if people else pd.DataFrame()
            return cls.from_dict(json_of(contents[RESULTS]), table)
        except FileError:
            raise
        except (*DAMAGE, KeyError, TypeError, AttributeError) as error:
            got = f"no {RESULTS} and {PEOPLE} of this version of fairgear"
            step = "check the path, or run the command on that folder again"
            allowed = "the folder of a finished run or audit"
            raise FileError(f"folder {folder}", got, allowed, step) from error

    def save_html(self, path: Path | str) -> None:
        """Write the page: one file with everything in it."""
        _report().write_page(self, Path(path))

    def model_card(self) -> str:
        """A section for a model card, in Markdown."""
        card: str = _report().model_card(self)
        return card

    def save_model_card(self, path: Path | str) -> None:
        """Write the Markdown section."""
        write_text(Path(path), self.model_card())


def _report() -> ModuleType:
    """The pages, which are made from audits: imported here for the convenience of users only."""
    from fairgear import report

    return report
