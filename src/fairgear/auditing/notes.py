"""Notes: sentences to read with the numbers of an audit, on its labels, worlds and maps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairgear.auditing.effects import Effect
from fairgear.auditing.family import OWN
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel, Diagnostics, FeatureCausalModel
from fairgear.graph import Target
from fairgear.metrics.disagreement import TOLERANCE

# Worlds with so many times the links of the graph, or so many times fewer, are warned of.
_DENSER = 2.0


def about_labels(target: Target) -> list[str]:
    """What counts as another answer, where labels are not of two classes."""
    if target.is_binary:
        return []
    if target.is_number:
        return [
            f"Labels are numbers: another answer is one that differs by more than {TOLERANCE:g} "
            f"standard deviations of the label, {TOLERANCE * target.sd:.4g}. Changes of scores "
            "and gaps between groups are in standard deviations."
        ]
    return [
        f"Labels have {len(target.classes)} classes: AUROC is the mean of each class against the "
        "rest; gaps are the largest over classes and pairs of groups; scores in the table of "
        "people are those of their answer on the factual graph."
    ]


def about_worlds(
    worlds: Worlds, causal_model: CausalModel, effects: Sequence[Effect], people: int
) -> list[str]:
    """Where the worlds come from, and on whom each intervention was measured."""
    what = (
        "exact: its equations are those that made the graph"
        if causal_model.exact
        else "a model of how the graph came about, not the truth; so are the flip rates"
    )
    notes = [f"The causal model of this audit, {causal_model.name!r}, is {what}."]
    notes.extend(causal_model.notes)
    if not causal_model.exact:
        notes.append(_who_judges(worlds))
    measured = {effect.intervention: len(effect.positions) for effect in effects}
    alone = measured.get("self", 0)
    sampled = f"all {people}" if alone == people else f"{alone} of the {people}"
    notes.append(f"The intervention self was measured on {sampled} people, one world each.")
    for name, state in (("neighbours", "stayed the same"), ("both", "changed")):
        count = measured.get(name, 0)
        if count == 0:
            notes.append(
                f"The intervention {name} is undefined: in no draw was there anyone whose own "
                f"value {state}."
            )
        elif count < people:
            notes.append(
                f"The intervention {name} was measured on {count} of the {people} people: those "
                f"whose own value {state} in at least one of the {worlds.draws} draws."
            )
    return notes


def other_density(diagnostics: Diagnostics) -> list[str]:
    """A warning where a world has far more links than the graph, or far fewer."""
    shares = {
        one.intervention: one.after.edges / one.before.edges
        for one in diagnostics.effects
        if one.before.edges
    }
    far = {name: share for name, share in shares.items() if not 1 / _DENSER < share < _DENSER}
    if not far:
        return []
    name = max(far, key=lambda name: abs(math.log(max(far[name], 1e-9))))
    return [
        f"Worlds of the causal model differ in their number of links: {far[name]:.2g} times as "
        f"many where {name!r} is set. Flips there follow from that too, but not in the rows with "
        "links fixed."
    ]


def _who_judges(worlds: Worlds) -> str:
    """Whom the feature maps of the audit's causal models were learned from."""
    if worlds.people is None:
        return (
            "Feature maps were learned from everybody: a model that was trained on the same people "
            "may have used the same estimate."
        )
    count = int(worlds.people.sum())
    return (
        f"Feature maps were learned from the {count:,} people outside the training and validation "
        "sets: no model can have used the same estimate."
    )


def models_trained_for(model: object, worlds: Worlds) -> set[str] | None:
    """The causal models that the audited model was trained for; None where that is not known."""
    known: Sequence[str] | None = getattr(model, "trained_for_", None)
    if known is None:
        return None
    own = worlds.known_model()
    moves = own.feature_model.identity if isinstance(own, FeatureCausalModel) else own.name
    same = moves in known or own.fingerprint() in known
    return {*known, *([OWN] if same else [])}


def home_ground(model: object, worlds: Worlds) -> list[str]:
    """What the model and the causal model have in common, to the model's advantage."""
    if OWN not in (models_trained_for(model, worlds) or ()):
        return []
    return [
        "The model was trained for the causal model of this audit: it is tested on its home "
        "ground. Read its flips under the others, which were held out."
    ]
