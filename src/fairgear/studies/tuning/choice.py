"""What a finished search says: the front, the settings that are chosen, and how to run them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from fairgear.datasets.checkup.finding import command as command_of
from fairgear.datasets.source import GraphSource
from fairgear.metrics import EVERY_METRIC, fewest_flips, pareto_front
from fairgear.report.tuning import Point, TuningPage
from fairgear.studies.tuning.plan import DEFAULT, FLOOR, TRIAL, Candidate, Tuning

WARNING = (
    "These figures chose the settings, so they are better than what other people will see. The "
    "command above measures the test people, whom nothing here has seen: run it once."
)


@dataclass(frozen=True)
class Result:
    """The rows of a search, and the choice among them.

    Attributes:
        tuning: what was searched.
        rows: of all candidates: the default, the floors, then the trials.
        max_loss: how much utility fewer flips may cost.
    """

    tuning: Tuning
    rows: Sequence[Mapping[str, Any]]
    max_loss: float

    @property
    def eligible(self) -> list[Mapping[str, Any]]:
        """The method as it is and every trial; floors are another method."""
        return [row for row in self.rows if row["kind"] != FLOOR]

    @property
    def front(self) -> list[Mapping[str, Any]]:
        """Those that no other beats in both figures, by utility, the best first."""
        rows = self.eligible
        best = pareto_front(*_figures(rows))
        found = [row for row, on in zip(rows, best, strict=True) if on]
        return sorted(found, key=lambda row: -row["utility"])

    @property
    def chosen(self) -> Mapping[str, Any]:
        """The fewest flips within `max_loss` of the best utility."""
        rows = self.eligible
        return rows[fewest_flips(*_figures(rows), max_loss=self.max_loss)]

    @property
    def utility(self) -> str:
        """What the utility is called."""
        return EVERY_METRIC[self.rows[0]["utility_name"]].label

    @property
    def rule(self) -> str:
        """How the choice is made, in words."""
        return f"the fewest flips among those within {self.max_loss:g} of the best {self.utility}"

    @property
    def command(self) -> str:
        """The run with the chosen settings."""
        return run_command(self.candidate(self.chosen))

    def better_floors(self) -> list[str]:
        """Floors with fewer flips and no lower utility than what is chosen."""
        chosen = self.chosen
        return [
            self.candidate(row).name
            for row in self.rows
            if row["kind"] == FLOOR
            and row["utility"] >= chosen["utility"]
            and row["flips"] <= chosen["flips"]
        ]

    def candidate(self, row: Mapping[str, Any]) -> Candidate:
        """That of a row."""
        searched = json.loads(row["settings"])
        return Candidate(self.tuning, row["kind"], row["number"], row["entry"], searched)

    def page(self) -> TuningPage:
        """For the report."""
        front = {(row["kind"], row["number"]) for row in self.front}
        chosen = self.chosen["kind"], self.chosen["number"]
        points = []
        for row in self.rows:
            one = self.candidate(row)
            points.append(
                Point(
                    name=one.name,
                    kind=one.kind,
                    utility=row["utility"],
                    flips=row["flips"],
                    model=row["worst_model"],
                    settings=settings_text(one),
                    on_front=one.key in front,
                    chosen=one.key == chosen,
                )
            )
        return TuningPage(
            dataset=self.tuning.source.short_name,
            method=self.tuning.contestant.entry,
            utility=self.utility,
            people=int(self.chosen["people"]),
            rule=self.rule,
            command=self.command,
            warning=WARNING,
            better_floors=tuple(self.better_floors()),
            quick=self.tuning.quick,
            points=tuple(points),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "utility": self.rows[0]["utility_name"],
            "rule": self.rule,
            "people": int(self.chosen["people"]),
            "chosen": {**self._entry(self.chosen), "command": self.command},
            "front": [self._entry(row) for row in self.front],
            "default": self._entry(next(row for row in self.rows if row["kind"] == DEFAULT)),
            "floors": [self._entry(row) for row in self.rows if row["kind"] == FLOOR],
            "better_floors": self.better_floors(),
            "trials": [self._entry(row) for row in self.rows if row["kind"] == TRIAL],
        }

    def _entry(self, row: Mapping[str, Any]) -> dict[str, Any]:
        one = self.candidate(row)
        figures = {name: row[name] for name in ("utility", "flips", "worst_model")}
        return {"name": one.name, "method": one.entry, "settings": one.settings, **figures}


def run_command(one: Candidate) -> str:
    """`fairgear run` of a candidate, as it can be typed."""
    source, default = one.tuning.typed or one.tuning.source, GraphSource()
    words = [command_of(source.dataset, source.data), f"--method {quote(one.method)}"]
    for name in ("split", "seed", "graph_seed"):
        if getattr(source, name) != getattr(default, name):
            words.append(f"--{name.replace('_', '-')} {quote(str(getattr(source, name)))}")
    if one.tuning.quick:
        words.append("--quick")
    words += [f"--set {quote(text)}" for text in _typed(one.settings)]
    return " ".join(words)


def settings_text(one: Candidate) -> str:
    """What a trial changed, in words."""
    return ", ".join(_typed(one.searched))


def _typed(settings: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Settings as NAME=VALUE, those of nested ones as `generator.steps=5`."""
    found = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found += _typed(value, f"{prefix}{name}.")
        else:
            written = value if isinstance(value, str) else json.dumps(value)
            found.append(f"{prefix}{name.replace('_', '-')}={written}")
    return found


def _figures(rows: Sequence[Mapping[str, Any]]) -> tuple[list[float], list[float]]:
    return [row["utility"] for row in rows], [row["flips"] for row in rows]


def default_folder(tuning: Tuning) -> Path:
    """Where a search is written if nothing else is said."""
    method = tuning.contestant.entry.replace(":", "-").replace("=", "-")
    return Path("tuning") / f"{tuning.source.short_name}-{method}-{tuning.source.seed}"
