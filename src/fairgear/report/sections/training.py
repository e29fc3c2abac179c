"""How training went: each term of the loss over time, and the step whose state was kept."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.auditing import Training
from fairgear.report.charts import LineChart, line_chart
from fairgear.training import History

_STAGES = {
    "generator": "The generator of counterfactuals",
    "network": "The model",
}
_TITLES = {"auroc": "AUROC", "kl": "KL"}
_CAPTIONS = {
    "auroc": "Validation; higher is better.",
    "flips": "Validation, in the worlds that it is trained for; lower is better.",
    "score": "What decides which state is kept; higher is better.",
    "prediction": "How wrong the answers are.",
    "fairness": "Distance between a person and their counterfactuals.",
    "consistency": "Difference between the answers about people as they are and as moved.",
    "dependence": "R² between predictions and the attributes of the surrounding people.",
    "infomax": "The encoder's own term.",
    "features": "Error of the rebuilt features.",
    "edges": "Error of the rebuilt links.",
    "kl": "What H knows of a person, in nats.",
    "discriminator": "What the discriminator reads of the surrounding people.",
    "covariance": "What H still says about s.",
}
# The figures that readers look for first, ahead of the terms of the loss.
_FIRST = ("auroc", "flips")
_LAST = ("score",)


@dataclass(frozen=True)
class Stage:
    """One stage of training; `best` is None where the last state was kept."""

    title: str
    steps: int
    best: int | None
    charts: tuple[LineChart, ...]


def training_section(training: Training) -> tuple[Stage, ...]:
    """Every stage with something to show."""
    stages = [_stage(name, history) for name, history in training.history.items()]
    return tuple(stage for stage in stages if stage.charts)


def _stage(name: str, history: History) -> Stage:
    rows = (*history.training, *history.validation)
    # A loop that never validates has −1: its last state was kept.
    best = None if history.best_step < 0 else history.best_step
    terms = dict.fromkeys(key for row in rows for key in row if key != "step")
    middle = [term for term in terms if term not in (*_FIRST, *_LAST)]
    series = {"training": history.training, "validation": history.validation}
    charts = [
        line_chart(
            term,
            series,
            title=_TITLES.get(term, ""),
            caption=_CAPTIONS.get(term, ""),
            best_step=best,
            zero=term == "flips",
        )
        for term in (*_FIRST, *middle, *_LAST)
        if term in terms
    ]
    return Stage(
        title=_STAGES.get(name, name),
        steps=int(max((row["step"] for row in rows), default=0)),
        best=best,
        charts=tuple(chart for chart in charts if chart is not None),
    )
