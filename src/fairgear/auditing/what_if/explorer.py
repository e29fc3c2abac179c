"""The explorer: what some people would get in other worlds, computed world by world."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter, Predictions
from fairgear.auditing.affected import most_affected
from fairgear.auditing.effects import COUNTERFACTUAL, Effect
from fairgear.auditing.family import OWN
from fairgear.auditing.people import person_name, sample
from fairgear.auditing.unknown import has_unknown
from fairgear.auditing.what_if.controls import AS_THEY_ARE, Controls, Setting, group_words
from fairgear.auditing.what_if.ego import Egos, short
from fairgear.auditing.what_if.features import Features
from fairgear.auditing.what_if.records import ExplainedPerson, Links, State, WhatIf, Why
from fairgear.auditing.what_if.why import Moves, explain
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import LocalWorld, changed_groups
from fairgear.metrics.inputs import Integers
from fairgear.progress import bar

# People who are explained if the user does not say how many.
PEOPLE = 60
# The same where each of their worlds takes the whole graph.
FEW_PEOPLE = 10
# The neighbours of a person with more are not set: each of them may gain and lose links.
MOST_NEIGHBORS = 200
_FIRST_COMPLETION = (
    "Unknown sensitive attributes have the values of the first completion here; the table of "
    "people has means over all."
)
_AS_IT_IS = Setting(-1, 0, 0, 0)
_OWN = COUNTERFACTUAL["delta_cf"]
T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Answered:
    """A world of one person, and what the model says of them there."""

    setting: Setting
    world: LocalWorld
    answer: Predictions


def explore(
    adapter: Adapter,
    worlds: Worlds,
    rows: Tensor,
    factual: Predictions,
    people: pd.DataFrame,
    alone: Effect | None,
    most: int | None = None,
    *,
    other_models: bool = True,
) -> WhatIf | None:
    """The most affected people and a random sample of the others, in every world of the controls.

    A model that scores people from their surroundings is run in each of these worlds. Of others,
    and where the causal model needs the whole graph, the worlds of *self* are shown, which the
    audit has already scored. None without those.

    Args:
        adapter: the audited model.
        worlds: of the audit.
        rows: the audited people.
        factual: their predictions on the factual graph.
        people: the table of people.
        alone: the effect *self*; None where it was not measured.
        most: people to explain, at most; 0 for none.
        other_models: whether other causal models and doses are asked too.
    """
    most = PEOPLE if most is None else most
    if most == 0 or worlds.causal_model is None:
        return None
    explained = _Explained(adapter, worlds, rows, factual, people)
    found = _found(explained, alone, most, other_models)
    if found is None or not has_unknown(worlds.graph):
        return found
    return replace(found, notes=(_FIRST_COMPLETION, *found.notes))


def _found(
    explained: _Explained, alone: Effect | None, most: int, other_models: bool
) -> WhatIf | None:
    adapter, worlds, rows = explained.adapter, explained.worlds, explained.rows
    cheap = worlds.cheap_alone and next(worlds.alone(rows[:1])).local.make is None
    if adapter.is_local and cheap:
        controls = Controls.of(worlds, other_models=other_models)
        chosen = _chosen(explained, np.arange(len(rows)), most)
        return _in_all_worlds(explained, controls, chosen)
    if alone is None or alone.answers is None:
        return None
    chosen = _chosen(explained, alone.positions, most if cheap else min(most, FEW_PEOPLE))
    return _in_own_worlds(explained, alone.answers, chosen)


def _chosen(explained: _Explained, among: Integers, most: int) -> dict[int, str]:
    """Positions of people among some, and why they were chosen; half of them the most affected."""
    people, worlds, rows = explained.people, explained.worlds, explained.rows
    flips = people[f"flip_{_OWN}"].to_numpy()[among]
    moved = (people[f"score_{_OWN}"] - people["score"]).to_numpy()[among]
    affected = among[most_affected(flips, moved, (most + 1) // 2)]
    others = np.setdiff1d(among, affected)
    drawn = sample(worlds.graph, rows[others], most - len(affected), worlds.seed).numpy()
    found = dict.fromkeys(affected.tolist(), "affected")
    return found | dict.fromkeys(others[drawn].tolist(), "random")


def _in_all_worlds(explained: _Explained, controls: Controls, chosen: dict[int, str]) -> WhatIf:
    found, notes, hubs = [], list(controls.notes), 0
    with explained.adapter.threads(), bar("what if", total=len(chosen)) as progress:
        for position, why in chosen.items():
            neighbors = explained.egos.pointing_to(int(explained.rows[position]))
            hubs += len(neighbors) > MOST_NEIGHBORS
            found.append(_explored(explained, controls, position, why, neighbors))
            progress.advance()
    if hubs:
        notes.append(
            f"{hubs} of these people have more than {MOST_NEIGHBORS} neighbours, who were left as "
            "they are."
        )
    return WhatIf(
        columns=explained.features.columns,
        own=controls.own,
        others=controls.others,
        models=controls.models,
        doses=controls.doses,
        people=tuple(found),
        notes=tuple(notes),
        directed=explained.worlds.graph.directed,
    )


def _explored(
    explained: _Explained, controls: Controls, position: int, chosen: str, neighbors: Tensor
) -> ExplainedPerson:
    """One person in every world of the controls."""
    graph, row = explained.worlds.graph, int(explained.rows[position])
    own = graph.sens[row].item()
    settable = 0 < len(neighbors) <= MOST_NEIGHBORS
    settings = [
        setting
        for setting in controls.settings()
        if (settable or not setting.others)
        and not (setting.own >= 0 and controls.values[setting.own].item() == own)
    ]
    made = controls.worlds(settings, row, neighbors)
    answers = explained.ask(made.values(), row)
    found = [Answered(*world, said) for world, said in zip(made.items(), answers, strict=True)]
    flipped = _flipped(explained, controls, position, found)
    why = None if flipped is None else explained.why(position, flipped)
    return explained.person(position, chosen, found, why)


def _flipped(
    explained: _Explained, controls: Controls, position: int, found: Sequence[Answered]
) -> Answered | None:
    """The world with another own value alone in which the answer is another; the nearest value.

    Of groups, the one that *self* puts the person in comes first.
    """
    graph, row = explained.worlds.graph, explained.rows[position : position + 1]
    before, how = explained.before(position), explained.factual.how
    candidates = [
        one
        for one in found
        if one.setting == _AS_IT_IS._replace(own=one.setting.own)
        and how.changes(before.labels, one.answer.labels)[0]
    ]
    if graph.continuous:
        aim = graph.sens[row].item()
    else:
        aim = changed_groups(graph, row, seed=explained.worlds.seed).item()

    def far(one: Answered) -> float:
        return abs(controls.values[one.setting.own].item() - aim)

    return min(candidates, key=far) if candidates else None


def _in_own_worlds(
    explained: _Explained, answers: Predictions, chosen: dict[int, str]
) -> WhatIf | None:
    """From the worlds of *self*, without running the model."""
    if not chosen:
        return None
    worlds, graph = explained.worlds, explained.worlds.graph
    rows = explained.rows[list(chosen)]
    others = changed_groups(graph, rows, seed=worlds.seed).tolist()
    found = []
    with bar("what if", total=len(chosen)) as progress:
        for (position, why), world, other in zip(
            chosen.items(), worlds.alone(rows), others, strict=True
        ):
            setting = _AS_IT_IS._replace(own=0 if graph.continuous else other)
            alone = Answered(setting, world.local, _one(answers, position))
            found.append(explained.person(position, why, [alone], None))
            progress.advance()
    adapter = explained.adapter
    reason = "each of its worlds takes the whole graph"
    if adapter.costly or not adapter.can_repeat:
        reason = "only worlds that the audit had scored can be shown"
    elif adapter.is_local:
        reason = "each world of the causal model takes the whole graph"
    return WhatIf(
        columns=explained.features.columns,
        own=("another value",) if graph.continuous else group_words(graph),
        others=(AS_THEY_ARE,),
        models=(OWN,),
        doses=(1.0,),
        people=tuple(found),
        notes=(
            "Only people's own value was set: other people's values, other causal models, doses, "
            f"and what accounts for another answer were not computed, since {reason}.",
        ),
        directed=graph.directed,
    )


class _Explained:
    """What all explained people share."""

    def __init__(
        self,
        adapter: Adapter,
        worlds: Worlds,
        rows: Tensor,
        factual: Predictions,
        people: pd.DataFrame,
    ) -> None:
        self.adapter, self.worlds, self.rows = adapter, worlds, rows
        self.factual, self.people = factual, people
        self.egos, self.features = Egos(worlds.graph), Features(worlds.graph)

    def before(self, position: int) -> Predictions:
        """What the model says of a person on the factual graph."""
        return _one(self.factual, position)

    def ask(self, worlds: Iterable[LocalWorld], row: int) -> list[Predictions]:
        """What the model says of a person in some worlds."""
        made = [_scored(world) for world in worlds]
        return list(self.adapter.predict_each(made, [torch.tensor([row])] * len(made)))

    def why(self, position: int, flipped: Answered) -> Why | None:
        """What accounts for the other answer in a world."""
        row, before = int(self.rows[position]), self.before(position)
        moves = Moves(self.features, row, flipped.world)

        def ask(worlds: Iterable[LocalWorld]) -> list[Predictions]:
            return self.ask(worlds, row)

        found = explain(moves, ask, before, flipped.answer)
        if found is None:
            return None
        score = self._score(found.score, flipped.answer.labels[0])
        return replace(found, score=score, own=flipped.setting.own)

    def person(
        self, position: int, chosen: str, found: Sequence[Answered], why: Why | None
    ) -> ExplainedPerson:
        """The record of a person, with everything that repeats stored once."""
        row, graph, before = int(self.rows[position]), self.worlds.graph, self.before(position)
        worlds = [one.world for one in found]
        alone = [one for one in found if not one.setting.others]
        first = [one.world for one in alone if not (one.setting.model or one.setting.dose)]
        ego = self.egos.around(row, [one.world for one in alone], first)
        factual = graph.x[row].cpu()
        own = [_row(world.x[world.rows == row], factual) for world in worlds]
        values = self.features.values(row, torch.stack([factual, *own])[1:])
        features, links = _Places[tuple[float, ...]](), _Places[Links]()
        attributes = _Places[tuple[float, ...]]()
        states = []
        for setting, world, answer, held in zip(
            [_AS_IT_IS, *(one.setting for one in found)],
            [None, *worlds],
            [before, *(one.answer for one in found)],
            values.tolist(),
            strict=True,
        ):
            states.append(
                State(
                    *setting,
                    score=self._score(answer.of_answer(before)[0], answer.labels[0]),
                    label=self._label(answer.labels[0]),
                    features=features.of(tuple(map(short, held))),
                    links=links.of(Links((), ()) if world is None else ego.links(world)),
                    attributes=attributes.of(ego.attributes(world)),
                )
            )
        return ExplainedPerson(
            node_id=person_name(graph, row),
            chosen=chosen,
            y=_plain(self.people["y"].iloc[position]),
            members=ego.members,
            hidden=ego.hidden,
            edges=ego.edges,
            features=tuple(features),
            links=tuple(links),
            attributes=tuple(attributes),
            states=tuple(states),
            why=why,
        )

    def _score(self, score: float, label: float) -> float:
        """To six digits, unless that is on the other side of the threshold."""
        known = short(float(score))
        binary = self.adapter.target.is_binary
        return float(score) if binary and (known > self.adapter.threshold) != label else known

    def _label(self, label: float) -> int | float:
        return short(float(label)) if self.adapter.target.is_number else int(label)


class _Places(dict[T, int]):
    """Values in the order in which they first come, and their places."""

    def of(self, value: T) -> int:
        return self.setdefault(value, len(self))


def _one(of: Predictions, position: int) -> Predictions:
    """Those of one person."""
    here = slice(position, position + 1)
    return Predictions(of.scores[here], of.labels[here], of.how)


def _row(found: Tensor, factual: Tensor) -> Tensor:
    """The features of a person in a world, the factual ones where they stay."""
    return found[0].to(factual.dtype) if len(found) else factual


def _plain(value: Any) -> int | float:
    return short(float(value)) if isinstance(value, float | np.floating) else int(value)


def _scored(local: LocalWorld) -> World:
    """A world of one person as models score it."""

    def sens() -> Tensor:
        values = local.factual.sens.clone()
        values[local.rows.to(values.device)] = local.sens.to(values)
        return values

    return World("strict", "what if", 0, sens, local.graph, lambda: local)
