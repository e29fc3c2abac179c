"""The controls of the explorer: what can be set for a person, and by which causal model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.family import DOSES, FIXED, OWN
from fairgear.auditing.world import Few
from fairgear.auditing.worlds import Worlds
from fairgear.causal import LocalWorld
from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import largest_groups, quantile_levels
from fairgear.hashing import node_uniform

AS_THEY_ARE = "as they are"
# Groups that all neighbours are set to; the largest where there are more.
_MOST_OTHERS = 4
# Own values by values of others, as they are included, that are crossed with other causal models
# too: as many as two groups make. With more, these models change one of the two at a time.
_CROSSED = 12
# Of the quantile levels of a number, those that all neighbours are set to.
_LOW_MIDDLE_HIGH = (0, 2, 4)
# From rows of neighbours to their values.
Values = Callable[[Tensor], Tensor]


class Setting(NamedTuple):
    """A place of each control; own −1 and others 0 are as they are."""

    own: int
    others: int
    model: int
    dose: int


@dataclass(frozen=True, eq=False)
class Controls:
    """What can be set.

    Attributes:
        own: the values of a person's own attribute, in words.
        values: the same as values.
        others: what all neighbours are set to, in words; first that they stay.
        models: names of causal models, that of the audit first.
        doses: shares of the difference that the attribute causes; 1 first.
        notes: what is left out, and why.
    """

    own: tuple[str, ...]
    values: Tensor
    others: tuple[str, ...]
    models: tuple[str, ...]
    doses: tuple[float, ...]
    notes: tuple[str, ...]
    _others: tuple[Values, ...]
    _few: dict[tuple[int, int], Few]

    @classmethod
    def of(cls, worlds: Worlds, *, other_models: bool) -> Self:
        """Those of some worlds; with `other_models`, the family of causal models, and doses."""
        graph, family = worlds.graph, worlds.family
        values, own = own_values(graph)
        notes = []
        if not graph.continuous and len(own) < graph.num_groups:
            notes.append(f"Of {graph.num_groups} groups, people are set to the {len(own)} largest.")
        others = _others_of(graph, worlds.seed)
        models, doses = [OWN], [1.0]
        few = {(0, 0): family.local()}
        for one in family.members[1:] if other_models else ():
            if one.local is not None:
                few[len(models), 0] = one.local
                models.append(one.name)
            elif one.name == OWN + FIXED:
                models.append(one.name)
        for share in sorted(DOSES, reverse=True) if other_models else ():
            few[0, len(doses)] = family.local(share)
            doses.append(share)
        if not other_models:
            notes.append("Other causal models and doses were not asked for.")
        elif _too_many(own, others):
            notes.append(_ONE_AT_A_TIME)
        return cls(
            own,
            values,
            (AS_THEY_ARE, *others),
            tuple(models),
            tuple(doses),
            tuple(notes),
            tuple(others.values()),
            few,
        )

    def settings(self) -> Iterator[Setting]:
        """All that are computed, but the one in which nothing is set."""
        own, others = range(-1, len(self.own)), range(len(self.others))
        for model in range(len(self.models)):
            few = model > 0 and _too_many(self.own, self.others[1:])
            for around in others:
                for value in own:
                    if (around or value >= 0) and not (few and around and value >= 0):
                        yield Setting(value, around, model, 0)
        for dose in range(1, len(self.doses)):
            for value in own[1:]:
                yield Setting(value, 0, 0, dose)

    def _assigned(self, setting: Setting, row: int, neighbors: Tensor) -> tuple[Tensor, Tensor]:
        """Whose values are set, as rows, and to what."""
        rows, values = [], []
        if setting.own >= 0:
            rows.append(torch.tensor([row]))
            values.append(self.values[setting.own : setting.own + 1])
        if setting.others:
            rows.append(neighbors)
            values.append(self._others[setting.others - 1](neighbors))
        return torch.cat(rows), torch.cat(values)

    def worlds(
        self, settings: Sequence[Setting], row: int, neighbors: Tensor
    ) -> dict[Setting, LocalWorld]:
        """The worlds of settings, in order: those of the audit's own causal model come first."""
        found: dict[Setting, LocalWorld] = {}
        for setting in settings:
            few = self._few.get((setting.model, setting.dose))
            if few is None:
                # The own model's links stay.
                found[setting] = found[setting._replace(model=0)].links_kept()
            else:
                found[setting] = few(*self._assigned(setting, row, neighbors))
        return found


def _too_many(own: Sized, others: Sized) -> bool:
    return (len(own) + 1) * (len(others) + 1) > _CROSSED


_ONE_AT_A_TIME = (
    "Under other causal models either the person's own value or the neighbours' is set: together "
    "there are too many worlds."
)


def own_values(graph: SensitiveGraph) -> tuple[Tensor, tuple[str, ...]]:
    """The values that one person is set to, and their words."""
    if graph.continuous:
        levels = np.unique(quantile_levels(graph.sens.cpu().numpy()))
        return torch.from_numpy(levels), tuple(f"{value:.6g}" for value in levels)
    groups = largest_groups(graph.sens.cpu().numpy(), graph.num_groups)
    names = group_words(graph)
    return torch.tensor(groups), tuple(names[group] for group in groups)


def group_words(graph: SensitiveGraph) -> tuple[str, ...]:
    """What the data call the groups; their numbers where they have no words."""
    known = graph.get("sens_names") or ()
    if graph.attributes is not None:
        known = graph.attributes.names
    return tuple(map(str, known)) or tuple(f"group {at}" for at in range(graph.num_groups))


def _others_of(graph: SensitiveGraph, seed: int) -> dict[str, Values]:
    """What all neighbours of a person are set to, by its words."""
    if graph.continuous:
        levels = quantile_levels(graph.sens.cpu().numpy())[list(_LOW_MIDDLE_HIGH)]
        return {f"all {value:.6g}": partial(_all, value) for value in np.unique(levels).tolist()}
    names = group_words(graph)
    count = torch.bincount(graph.sens.cpu(), minlength=graph.num_groups)
    largest = (-count).argsort(stable=True)[:_MOST_OTHERS].sort().values.tolist()
    found: dict[str, Values] = {f"all {names[group]}": partial(_all, group) for group in largest}
    if graph.num_groups == 2:
        ids = graph.node_id.cpu()

        def half(rows: Tensor) -> Tensor:
            place = node_uniform(ids[rows], seed, "half of the neighbours").argsort(stable=True)
            values = torch.ones(len(rows), dtype=torch.int64)
            values[place[: len(rows) // 2]] = 0
            return values

        found[f"half {names[0]}, half {names[1]}"] = half
    return found


def _all(value: float, rows: Tensor) -> Tensor:
    kind = torch.float64 if isinstance(value, float) else torch.int64
    return torch.full((len(rows),), value, dtype=kind)
