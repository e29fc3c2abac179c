"""What a graph must have so that a method can be trained on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph

if TYPE_CHECKING:
    from fairgear.methods.base import Method


def check_trainable(
    graph: SensitiveGraph,
    targets: Sequence[str] = ("binary",),
    method: str = "the method",
    *,
    several_groups: bool = False,
    number_of_s: bool = False,
) -> None:
    """Refuse a graph without all groups, or without all classes in training or validation.

    Labels of a kind that is not among `targets` are refused too, and so are more than two groups,
    or a sensitive attribute that is a number, unless the method can have them; numbers must differ.
    """
    target = graph.target
    if target.kind not in targets:
        able = _able(lambda each: target.kind in each.targets)
        raise GraphError(
            f"labels to train {method} on",
            target.words,
            "two classes" if tuple(targets) == ("binary",) else ", ".join(targets),
            f"use one of {', '.join(able)}, or recode the label",
        )
    check_sensitive(graph, method, several_groups=several_groups, number_of_s=number_of_s)
    for part, mask in (("training", graph.train_mask), ("validation", graph.val_mask)):
        y, what = graph.y[mask], f"among the {part} nodes"
        if target.is_number:
            _check_numbers(what, y)
        else:
            _check_present(f"class {what}", y, range(len(target.classes)))


def check_sensitive(
    graph: SensitiveGraph,
    method: str,
    *,
    several_groups: bool,
    number_of_s: bool,
    able: Sequence[str] | None = None,
) -> None:
    """Refuse a graph without all groups, or whose attribute is of a kind a method cannot have.

    Where that is a number, `able` are the methods that can; those of people if not given.
    """
    if graph.continuous:
        if able is None:
            able = _able(lambda each: each.number_of_s)
        _check_number(graph, method, number_of_s, able)
        return
    if graph.num_groups > 2 and not several_groups:
        able = _able(lambda each: each.several_groups)
        raise GraphError(
            f"a graph to train {method} on",
            f"{graph.num_groups} groups",
            "two groups",
            f"use one of {', '.join(able)}, or --sensitive-against VALUE",
        )
    _check_present("group", graph.sens, range(graph.num_groups))


def _able(can: Callable[[type[Method]], bool]) -> list[str]:
    """The names of the methods that can."""
    # Methods ask this file whether they can be trained.
    from fairgear.methods.base import METHODS

    return [name for name in METHODS if can(METHODS[name])]


def _check_number(
    graph: SensitiveGraph, method: str, number_of_s: bool, able: Sequence[str]
) -> None:
    """Refuse a sensitive attribute that is a number, or the same number for everybody."""
    name = graph.attributes.name if graph.attributes else "s"
    what = f"a graph to train {method} on"
    if not number_of_s:
        step = (
            f'use one of {", ".join(able)}, or compare two groups, such as --sensitive "{name}<40"'
        )
        raise GraphError(what, f"the number {name!r} as sensitive attribute", "groups", step)
    if len(torch.unique(graph.sens)) < 2:
        got, step = f"the same {name!r} for everybody", "name another sensitive attribute"
        raise GraphError(what, got, "numbers that differ", step)


def _check_present(name: str, values: Tensor, wanted: Sequence[int]) -> None:
    present = set(values.tolist())
    if present != set(wanted):
        shown = ", ".join(str(v) for v in sorted(present)) or "no node"
        two = list(wanted) == [0, 1]
        every = "both 0 and 1" if two else f"each of 0 to {len(wanted) - 1}"
        raise GraphError(
            f"a graph to train on, each {name}",
            shown,
            f"{every}, and nothing else",
            "give labels and masks in which "
            f"{'both' if two else 'all'} occur, see fairgear.graph.split",
        )


def _check_numbers(what: str, y: Tensor) -> None:
    if bool(y.isnan().any()) or len(torch.unique(y)) < 2:
        raise GraphError(
            f"a graph to train on, numbers {what}",
            f"{len(y)} nodes, {int(y.isnan().sum())} of them without a number",
            "numbers that differ, and no unknown ones",
            "give labels and masks, see fairgear.graph.split",
        )
