"""assert_alike: bounds on what an audit measures, as an assertion for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from fairgear.auditing import Audit, Condition, Worlds, adapt, audit
from fairgear.auditing.affected import most_affected
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.causal import CausalModel
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.metrics import EVERY_METRIC, Interval
from fairgear.report.numbers import attribute, between, level_of, measure

_ENDS = {"value": None, "worse end": "worse", "better end": "better"}
# They are measured under every causal model of the family.
_OF_THE_FAMILY = {f"delta_cf_{which}" for which in ("min", "max", "any", "all")}
# People who are named in the message.
_NAMED = 5


class NotAlikeError(AssertionError):
    """A model that breaks a bound; its message has the figures.

    Attributes:
        audit: what was measured for the bounds.
        page: where the page is, once it is written.

    Example:
        >>> from fairgear.testing import NotAlikeError, assert_alike, toy_graph
        >>> try:
        ...     assert_alike(lambda world: world.sens.float(), toy_graph(), delta_cf=0.05)
        ... except NotAlikeError as error:
        ...     print(round(error.audit.metrics["delta_cf"], 2))
        0.5
    """

    def __init__(self, found: Audit, message: str, again: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.audit = found
        self.page: Path | None = None
        self._again = again

    def save_html(self, path: Path | str) -> None:
        """Audit the model once more with all that a page shows, and write the page."""
        audit(**self._again).save_html(path)
        self.page = Path(path)


def assert_alike(
    model: object,
    graph: SensitiveGraph | Worlds,
    *,
    by: Literal["value", "worse end", "better end"] = "value",
    page: Path | str | None = None,
    name: str | None = None,
    threshold: float | None = None,
    causal_model: CausalModel | None = None,
    nodes: Tensor | None = None,
    draws: int = 3,
    seed: int = 0,
    self_people: int | None = None,
    level: float = 0.95,
    **bounds: float,
) -> Audit:
    """Audit a model and raise `NotAlikeError`, an AssertionError, where it breaks a bound.

    Only what the bounds need is measured: other causal models for `delta_cf_max` and the like,
    people one by one for `delta_cf_self`.

    Args:
        model: whatever `fairgear.audit` takes.
        graph: the graph; or its `Worlds`, which several models can share.
        by: what must be within bounds: the measured value; the worse end of its interval, so that
            a pass shows the bound to hold; or the better end, so that a failure shows it broken.
        page: where the page of a model that fails is written; pytest has a place for it anyway.
        name: what the message and the page call the model.
        threshold: as in `fairgear.audit`.
        causal_model: likewise.
        nodes: likewise.
        draws: likewise.
        seed: likewise.
        self_people: likewise.
        level: likewise.
        bounds: the worst that is allowed, by the names of `fairgear.metrics.EVERY_METRIC`: at most
            where lower is better, at least where higher is better.

    Returns:
        The audit of what the bounds need.

    Example:
        >>> from fairgear.testing import assert_alike, toy_graph
        >>> def score(world):
        ...     return world.x[:, 0].sigmoid()
        >>> audit = assert_alike(score, toy_graph(), delta_cf=0.05, auroc=0.7)
        >>> audit.metrics["delta_cf"]
        0.0
    """
    if by not in _ENDS:
        raise ParameterError("by", repr(by), ", ".join(map(repr, _ENDS)), "use 'value'")
    if not bounds:
        got, step = "no bound", "write one, such as delta_cf_max=0.05"
        raise ParameterError("assert_alike", got, f"any of {', '.join(EVERY_METRIC)}", step)
    conditions = [
        Condition.breaking(metric, float(bound), _ENDS[by]) for metric, bound in bounds.items()
    ]
    adapter = adapt(model, name=name, threshold=threshold)
    if not isinstance(graph, Worlds):
        protocol = "released" if "delta_cf_released" in bounds else "strict"
        graph = Worlds(
            graph,
            causal_model,
            draws=draws,
            seed=seed,
            protocol=protocol,
            factual_only=adapter.factual_only,
        )
        causal_model, draws, seed = None, graph.draws, graph.seed
    asked: dict[str, Any] = {
        "model": adapter,
        "graph": graph,
        "causal_model": causal_model,
        "nodes": nodes,
        "draws": draws,
        "seed": seed,
        "self_people": self_people,
        "level": level,
    }
    found = audit(
        **{**asked, **({} if "delta_cf_self" in bounds else {"self_people": 0})},
        affected_people=0,
        what_if_people=0,
        other_causal_models=not _OF_THE_FAMILY.isdisjoint(bounds),
        probes=False,
    )
    broken = [one for one in conditions if one.failure(found.metrics, found.intervals) is not None]
    if not broken:
        return found
    failure = NotAlikeError(found, _message(found, conditions, broken), asked)
    if page is not None:
        failure.save_html(page)
        failure.add_note(f"The page: {page}")
    raise failure


def _message(found: Audit, conditions: list[Condition], broken: list[Condition]) -> str:
    setup = found.setup
    count = f"{len(broken)} of {len(conditions)}" if len(conditions) > 1 else "the"
    lines = [
        f"{found.model.name} breaks {count} bound{'s' if len(conditions) > 1 else ''} on "
        f"{setup.people:,} people of {setup.dataset}.",
        *(_line(found, one, one in broken) for one in conditions),
    ]
    others = found.causal_models
    if others is not None:
        lines.append(f"  Largest δCF: under the causal model {others.largest.model!r}.")
    if any(one.metric.startswith("delta_cf") for one in broken):
        lines.extend(_affected(found))
    return "\n".join(lines)


def _line(found: Audit, one: Condition, is_broken: bool) -> str:
    metric = EVERY_METRIC[one.metric]
    ends = found.intervals.get(one.metric, Interval(float("nan"), float("nan")))
    whose = {None: "", "low": "lower end ", "high": "upper end "}[one.end]
    side = "at least" if metric.direction == "higher" else "at most"
    return (
        f"  {metric.label}: {measure(found.metrics.get(one.metric))} "
        f"({level_of(found.setup.level)} % interval {between(ends)}); {whose}allowed {side} "
        f"{one.number:g}: {'BROKEN' if is_broken else 'kept'} ({one.metric})"
    )


def _affected(found: Audit) -> list[str]:
    """Whom the attribute affects most; nothing where no other world is known."""
    key = COUNTERFACTUAL["delta_cf"]
    table = found.people
    if f"flip_{key}" not in table:
        return []
    flips = table[f"flip_{key}"].to_numpy()
    moved = (table[f"score_{key}"] - table["score"]).to_numpy()
    lines = [
        f"  {int((flips > 0).sum()):,} people get another answer in some world; most affected:"
    ]
    named = [at for at in most_affected(flips, moved, _NAMED).tolist() if flips[at] > 0]
    for at in named:
        row = table.iloc[at]
        who = row["node_name"] if "node_name" in table else int(row["node_id"])
        lines.append(
            f"    person {who} ({attribute(row['sens'], found.names)}): "
            f"another answer in {flips[at]:.0%} of the worlds, score {row['score']:.3f}, "
            f"{moved[at]:+.3f} on average"
        )
    return lines
