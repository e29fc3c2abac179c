"""Audit: what was measured of a model, and the forms in which it can be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.auditing.affected import Affected
from fairgear.auditing.comparison import Comparison, compare_people
from fairgear.auditing.conditions import Condition, failures
from fairgear.auditing.evaluation import Evaluation
from fairgear.auditing.factual import LABELLED
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.json_fields import from_fields
from fairgear.auditing.response import COUNTERFACTUAL, FlipRow
from fairgear.auditing.sensitivity import Sensitivity
from fairgear.auditing.sight import Sight
from fairgear.errors import ParameterError
from fairgear.files import write_json, write_text
from fairgear.metrics import Interval, from_json_number
from fairgear.report import model_card, write_audit


@dataclass(frozen=True, eq=False)
class Audit:
    """What a model does to people, what it would do had they been of another group, and why.

    Attributes:
        model: name, kind and threshold of the audited model.
        sight: what it was seen to look at.
        config: on what graph and with which draws; JSON-ready.
        evaluation: the numbers, with intervals, by intervention, by group and by person.
        diagnostics: what the causal model does to the graph; JSON-ready, None without one.
        causal_models: how δCF moves across causal models; None where it was not asked for.
        affected: the people whom the attribute matters to most, and the neighbours who matter to
            them.
        graph: counts of the graph; JSON-ready.
        names: what the data call the groups and the answers, where they have words for them.
    """

    model: dict[str, Any]
    sight: Sight
    config: dict[str, Any]
    evaluation: Evaluation
    diagnostics: dict[str, Any] | None
    causal_models: Sensitivity | None
    affected: tuple[Affected, ...]
    graph: dict[str, Any]
    names: dict[str, list[str]]

    @property
    def metrics(self) -> dict[str, float]:
        """By the names of `fairgear.metrics.METRICS`; NaN where undefined."""
        return self.evaluation.metrics

    @property
    def intervals(self) -> dict[str, Interval]:
        """Of the metrics, by the same names."""
        return self.evaluation.intervals

    @property
    def people(self) -> pd.DataFrame:
        """One row a person: score now and under each intervention, flips, neighbours."""
        return self.evaluation.people

    @property
    def notes(self) -> tuple[str, ...]:
        """Plain sentences to be read with the numbers, the weightiest first."""
        verdict = [] if self.causal_models is None else [self.causal_models.verdict]
        return (*self.sight.sentences(), *verdict, *self.evaluation.notes)

    def to_frame(self) -> pd.DataFrame:
        """Everything that has an interval, one row each: `part name value low high people`.

        The parts are "metric", "flips" (by protocol and intervention), "group" (name and share)
        and "causal model" (δCF under each).
        """
        everyone = len(self.people)
        asked = {key: everyone for key in self.metrics}
        asked |= dict.fromkeys(LABELLED, int((self.people["y"] >= 0).sum()))
        asked["delta_eo"] = int((self.people["y"] == 1).sum())
        measured = {row.key: row.people for row in self.evaluation.flips}
        asked |= {key: measured.get(where, 0) for key, where in COUNTERFACTUAL.items()}
        rows: list[tuple[str, str, float, Interval, int]] = [
            ("metric", key, value, self.intervals[key], asked[key])
            for key, value in self.metrics.items()
        ]
        rows += [
            ("flips", f"{row.protocol} {row.intervention}", row.rate, row.interval, row.people)
            for row in self.evaluation.flips
        ]
        rows += [
            ("group", f"{group.group} {key}", getattr(group, key), interval, group.people(key))
            for group in self.evaluation.groups
            for key, interval in group.intervals.items()
        ]
        if self.causal_models is not None:
            rows += [
                ("causal model", row.model, row.rate, row.interval, everyone)
                for row in self.causal_models.rows
            ]
        flat = [
            (part, name, value, *interval, people) for part, name, value, interval, people in rows
        ]
        return pd.DataFrame(flat, columns=["part", "name", "value", "low", "high", "people"])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, all but `people`; None where undefined."""
        measured = self.evaluation.to_dict()
        causal_models = None if self.causal_models is None else self.causal_models.to_dict()
        return {
            "format": 1,
            "kind": "audit",
            "model": {**self.model, "sight": self.sight.to_dict()},
            "metrics": measured["metrics"],
            "intervals": measured["intervals"],
            "config": self.config,
            "details": {
                "flips": measured["flips"],
                "groups": measured["groups"],
                "graph": self.graph,
                "names": self.names,
                "notes": measured["notes"],
                "diagnostics": self.diagnostics,
            },
            "causal_models": causal_models,
            "affected": [one.to_dict() for one in self.affected],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], people: pd.DataFrame) -> Audit:
        """What `to_dict` gave, with the table of people; a KeyError where something is missing."""
        model, details = dict(data["model"]), data["details"]
        sight = Sight(**model.pop("sight"))
        others = data["causal_models"]
        return cls(
            model=model,
            sight=sight,
            config=dict(data["config"]),
            evaluation=Evaluation(
                metrics={key: from_json_number(value) for key, value in data["metrics"].items()},
                intervals={
                    key: Interval.from_json(ends) for key, ends in data["intervals"].items()
                },
                flips=tuple(from_fields(FlipRow, row) for row in details["flips"]),
                groups=tuple(GroupSummary.from_dict(row) for row in details["groups"]),
                people=people,
                notes=tuple(details["notes"]),
            ),
            diagnostics=details["diagnostics"],
            causal_models=None if others is None else Sensitivity.from_dict(others),
            affected=tuple(Affected.from_dict(one) for one in data["affected"]),
            graph=dict(details["graph"]),
            names=dict(details["names"]),
        )

    def compare(self, other: Audit, *, level: float | None = None) -> Comparison:
        """This model against another one, person by person, on the same counterfactuals.

        Args:
            other: the other model's audit.
            level: of the intervals; that of this audit if not given.
        """
        if self.config["worlds"] != other.config["worlds"]:
            raise ParameterError(
                "two audits to compare",
                "audits on different graphs, causal models, draws or seeds",
                "audits on the same counterfactuals",
                "audit both with the same graph, causal_model, draws and seed",
            )
        names = (str(self.model["name"]), str(other.model["name"]))
        return compare_people(
            self.people,
            other.people,
            names=names,
            level=float(self.config["level"]) if level is None else level,
            seed=int(self.config["seed"]),
        )

    def failures(self, *conditions: str) -> list[str]:
        """A sentence for each condition, such as "delta_cf > 0.05", that this audit meets."""
        parsed = [Condition.parse(text) for text in conditions]
        return failures(parsed, self.metrics, self.intervals)

    def model_card(self) -> str:
        """A section for a model card, in Markdown."""
        return model_card(self.to_dict())

    def save_html(self, path: Path | str, *, against: Comparison | None = None) -> None:
        """Write the page: one file with everything in it."""
        write_audit({**self.to_dict(), "comparison": _plain(against)}, Path(path))

    def save_json(self, path: Path | str, *, against: Comparison | None = None) -> None:
        """Write all but the table of people as one JSON object."""
        write_json(Path(path), {**self.to_dict(), "comparison": _plain(against)})

    def save_model_card(self, path: Path | str) -> None:
        """Write the Markdown section."""
        write_text(Path(path), self.model_card())


def _plain(comparison: Comparison | None) -> dict[str, Any] | None:
    return None if comparison is None else comparison.to_dict()
