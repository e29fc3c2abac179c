"""The first screen of an audit: which model, what it looks at, and what to be careful about."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.headline import GRAPH_COUNTS, Headline, headline, measured_on
from fairgear.report.numbers import plain
from fairgear.report.parts import Part, mapping
from fairgear.report.sight import UNSTEADY, seen

_DEPENDS = "How many answers change depends on the causal model: others find another share."
_SETTINGS = (
    ("causal model", "causal_model"),
    ("draws of each random world", "draws"),
    ("people whose own attribute is flipped", "self_people"),
    ("seed", "seed"),
)


@dataclass(frozen=True)
class AuditHeadline(Headline):
    """What a reader with one minute takes away, of any model."""

    kind: str
    sight: tuple[str, ...]


def audit_headline(audit: Part) -> AuditHeadline:
    """The first screen of an audit."""
    common, model = headline(audit), mapping(audit, "model")
    threshold = model.get("threshold")
    about = () if threshold is None else (("answer 1 where the score is above", plain(threshold)),)
    return AuditHeadline(
        dataset=common.dataset,
        model=str(model.get("name") or "unnamed model"),
        people=common.people,
        answers=common.answers,
        cautions=(*_cautions(audit), *common.cautions),
        # Whom a model was trained on is not known of one that somebody else trained.
        facts=(*measured_on(audit, counts=GRAPH_COUNTS, settings=_SETTINGS), *about),
        accurate=common.accurate,
        alike=common.alike,
        kind=str(model.get("kind") or ""),
        sight=seen(mapping(model, "sight")),
    )


def _cautions(audit: Part) -> tuple[str, ...]:
    found = []
    if mapping(mapping(audit, "model"), "sight").get("repeats") is False:
        found.append(UNSTEADY)
    others = mapping(audit, "causal_models")
    if others.get("depends") is True:
        found.append(str(others.get("verdict") or _DEPENDS))
    return tuple(found)
