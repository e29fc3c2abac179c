"""Draw the figures of the concepts, from data that are computed here.

    .venv/bin/python docs/concepts/figures.py

The numbers that they show are kept in figures/figures.json, and the tests compute them again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression

import fairgear as fg
from fairgear.report.drawing import BAND, BLUE, GREY, LINE, ORANGE, SOFT, tidy

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
NUMBERS = FIGURES / "figures.json"
ROWS = HERE.parent / "results" / "interval_coverage.csv"
EXAMPLES = HERE.parents[1] / "examples"


def measures() -> dict[str, dict[str, list[float]]]:
    """Accuracy, gap and flips of four models of the same people, each with its interval."""
    graph = fg.datasets.load("synthetic", n=1200, seed=0)
    x, y, rows = graph.x.numpy(), graph.y.numpy(), graph.train_mask.numpy()
    column = graph.sens_column
    assert column is not None
    seeing = LogisticRegression(max_iter=1000).fit(x[rows], y[rows])
    blind = LogisticRegression(max_iter=1000).fit(np.delete(x, column, axis=1)[rows], y[rows])
    models: dict[str, Any] = {
        "constant": lambda graph: torch.full((len(graph.x),), 0.7),
        "with the column": seeing,
        "without the column": blind,
        "groups' difference subtracted": fg.methods.METHODS["logistic-residual"]().fit(graph),
    }
    worlds, found = fg.auditing.Worlds(graph), {}
    for name, model in models.items():
        audit = fg.audit(
            model, worlds, self_people=100, what_if_people=0, other_causal_models=False
        )
        keys = ("accuracy", "delta_dp", "delta_cf_self")
        found[name] = {key: [audit.metrics[key], *audit.intervals[key]] for key in keys}
    return found


def family() -> dict[str, list[float]]:
    """The share of answers that change under each causal model, for one classifier."""
    people, friends = (pd.read_csv(EXAMPLES / name) for name in ("people.csv", "friends.csv"))
    graph = fg.graph.from_tables(people, friends, label="approved", sensitive="sex")
    graph = fg.graph.split(graph, seed=0)
    rows, x, y = graph.train_mask.numpy(), graph.x.numpy(), graph.y.numpy()
    model = LogisticRegression(max_iter=1000).fit(x[rows], y[rows])
    audit = fg.audit(model, graph, nodes=torch.arange(len(x)), self_people=0, what_if_people=0)
    assert audit.causal_models is not None
    wanted = [row for row in audit.causal_models.rows if not row.part]
    return {row.model: [row.rate, *row.interval] for row in wanted}


def world() -> dict[str, Any]:
    """One person's surroundings as they are and had the person been of the other group."""
    graph = fg.datasets.load("synthetic", n=2000, seed=0)
    model = fg.causal.for_graph(graph)
    # Somebody who knows a few people, and would know others.
    row = 38
    moved = model.counterfactual(graph, fg.causal.flipped(graph, row), seed=0)
    pairs = [{tuple(sorted(pair)) for pair in one.edge_index.T.tolist()} for one in (graph, moved)]
    near = {row} | {end for edges in pairs for pair in edges if row in pair for end in pair}
    kept = [sorted(pair for pair in edges if near >= set(pair)) for edges in pairs]
    return {
        "person": row,
        "sens": {str(one): int(graph.sens[one]) for one in sorted(near)},
        "as it is": [list(pair) for pair in kept[0]],
        "moved": [list(pair) for pair in kept[1]],
    }


def coverage() -> dict[str, list[float]]:
    """How often intervals of each rule cover, by what people share: the least over all rates."""
    rows = pd.read_csv(ROWS)
    chosen = rows[(rows["graph"] == _GRAPH) & rows["rate"].isin([0.05, 0.1, 0.2])]
    least = chosen.groupby(["shared", "rule"], sort=False)["covered"].min().unstack("rule")
    return {name: [float(row[rule]) for rule in _RULES] for name, row in least.iterrows()}


_GRAPH = "map, 400"
_RULES = ("communities", "regions")


def numbers() -> dict[str, Any]:
    """Everything that the figures show."""
    return {
        "measures": measures(),
        "family": family(),
        "world": world(),
        "coverage": coverage(),
    }


def draw(found: dict[str, Any]) -> None:
    """The figures, from `numbers`."""
    FIGURES.mkdir(exist_ok=True)
    mpl.rcParams["svg.hashsalt"] = "fairgear"
    for name, figure in {
        "measures": _measures(found["measures"]),
        "family": _family(found["family"]),
        "world": _world(found["world"]),
        "coverage": _coverage(found["coverage"]),
    }.items():
        path = FIGURES / f"{name}.svg"
        figure.savefig(path, facecolor="white", metadata={"Date": None})
        # Trailing spaces, which matplotlib leaves, are no part of a picture.
        lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _measures(found: dict[str, dict[str, list[float]]]) -> Figure:
    figure = Figure(figsize=(9.5, 2.4), layout="constrained")
    heads = {
        "accuracy": "accuracy",
        "delta_dp": "gap between groups",
        "delta_cf_self": "flips by one's own attribute",
    }
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (key, head) in zip(panels, heads.items(), strict=True):
        for place, one in enumerate(found.values()):
            _line(axes, one[key], place, GREY if key == "accuracy" else BLUE)
        axes.set_title(head, fontsize=9, color=SOFT, loc="left")
        axes.set_xlim(left=0)
        _percent(axes)
    panels[0].set_yticks(range(len(found)), list(found))
    panels[0].set_ylim(len(found) - 0.5, -0.5)
    return figure


def _family(found: dict[str, list[float]]) -> Figure:
    figure = Figure(figsize=(7, 0.5 + 0.26 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, (name, one) in enumerate(found.items()):
        _line(axes, one, place, ORANGE if name == "own" else BLUE)
    least, largest = (end(one[0] for one in found.values()) for end in (min, max))
    axes.axvspan(least, largest, color=BAND, alpha=0.25, linewidth=0)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(left=0)
    _percent(axes)
    return figure


def _world(found: dict[str, Any]) -> Figure:
    before, after = ({tuple(pair) for pair in found[key]} for key in ("as it is", "moved"))
    everybody = nx.Graph([*before, *after])
    everybody.add_nodes_from(map(int, found["sens"]))
    centre = found["person"]
    around = [one for one in everybody if one != centre]
    places = nx.circular_layout(everybody.subgraph(around)) | {centre: np.zeros(2)}
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, here, other, title in zip(
        panels,
        (before, after),
        (after, before),
        ("as it is", "had this person been of the other group"),
        strict=True,
    ):
        moved = axes is panels[1]
        axes.set_aspect("equal")
        axes.margins(0.15)
        for pair in here | other:
            ends = np.array([places[one] for one in pair])
            style = {"color": LINE, "linewidth": 1.2}
            if moved and pair in here - other:
                style = {"color": ORANGE, "linewidth": 2.6}
            elif moved and pair in other - here:
                style = {"color": GREY, "linewidth": 1.0, "linestyle": (0, (3, 3))}
            elif pair not in here:
                continue
            axes.plot(*ends.T, zorder=1, **style)
        for one, group in found["sens"].items():
            middle = int(one) == centre
            group = 1 - group if middle and moved else group
            axes.scatter(
                *places[int(one)],
                s=190 if middle else 70,
                marker="s" if group else "o",
                color=BLUE if group else "white",
                edgecolors=ORANGE if middle else BLUE,
                linewidths=2.6 if middle else 1.2,
                zorder=2,
            )
        axes.set_title(title, fontsize=9, color=SOFT)
        axes.axis("off")
    figure.supxlabel("circle: group 0, square: group 1", fontsize=8, color=SOFT)
    return figure


def _coverage(found: dict[str, list[float]]) -> Figure:
    figure = Figure(figsize=(7, 0.7 + 0.28 * len(found)), layout="constrained")
    axes = figure.subplots()
    for place, values in enumerate(found.values()):
        axes.plot(values, [place, place], color=LINE, linewidth=3, zorder=1)
        for value, color, rule in zip(values, (GREY, BLUE), _RULES, strict=True):
            axes.plot(value, place, "o", color=color, label=rule if place == 0 else None)
    axes.axvline(0.95, color=ORANGE, linewidth=1)
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0.7, 1.0)
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    _percent(axes)
    return figure


def _line(axes: Axes, one: list[float], place: int, color: str) -> None:
    value, low, high = one
    axes.plot([low, high], [place, place], color=color, linewidth=2.4, alpha=0.5)
    axes.plot(value, place, "o", color=color, markersize=6, clip_on=False)


def _percent(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    tidy(axes)


if __name__ == "__main__":
    found = numbers()
    draw(found)
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
