"""How training went: each term of the loss over time, and the step whose state was kept."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.figures import LineChart, line_chart
from fairgear.report.numbers import count
from fairgear.report.parts import Part, mapping, number, rows

_STAGES = {
    "generator": "The generator of counterfactuals",
    "network": "The model",
}
_TITLES = {"auroc": "AUROC", "kl": "KL"}
_CAPTIONS = {
    "auroc": "Validation; higher is better.",
    "flips": "Validation, under the model's own generator; lower is better.",
    "score": "What decides which state is kept; higher is better.",
    "prediction": "How wrong the answers are.",
    "fairness": "Distance between a person and their counterfactuals.",
    "consistency": "Difference of their scores, or of how these stand to the boundary, squared.",
    "dependence": "R² between predictions and the attribute around people.",
    "infomax": "The encoder's own term.",
    "features": "How badly features are rebuilt.",
    "edges": "How badly links are rebuilt.",
    "kl": "What H knows of a person, in nats.",
    "discriminator": "What the discriminator reads of the people around.",
    "covariance": "What of s can be told from H.",
}
# What people look for first, ahead of the terms of the loss.
_FIRST = ("auroc", "flips")
_LAST = ("score",)


@dataclass(frozen=True)
class Stage:
    """One stage of training."""

    title: str
    steps: str
    best: str
    charts: tuple[LineChart, ...]


def training_section(run: Part) -> tuple[Stage, ...]:
    """Every stage with something to show."""
    history = mapping(mapping(run, "details"), "history")
    stages = [_stage(str(name), mapping(history, name)) for name in history]
    return tuple(stage for stage in stages if stage.charts)


def _stage(name: str, stage: Part) -> Stage:
    training, validation = rows(stage, "training"), rows(stage, "validation")
    best = number(stage, "best_step")
    # A loop that never validated says -1: its last state was kept.
    best = None if best is None or best < 0 else best
    terms = dict.fromkeys(key for row in (*training, *validation) for key in row if key != "step")
    middle = [term for term in terms if term not in (*_FIRST, *_LAST)]
    order = [term for term in (*_FIRST, *middle, *_LAST) if term in terms]
    series = (("training", training), ("validation", validation))
    charts = [
        line_chart(
            term,
            series,
            title=_TITLES.get(term, ""),
            caption=_CAPTIONS.get(term, ""),
            best_step=best,
            zero=term == "flips",
        )
        for term in order
    ]
    steps = [number(row, "step") or 0.0 for row in (*training, *validation)]
    return Stage(
        title=_STAGES.get(name, name),
        steps=count(max(steps, default=0.0)),
        best="" if best is None else count(best),
        charts=tuple(chart for chart in charts if chart is not None),
    )
