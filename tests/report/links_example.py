"""Audits of links that tests of their page share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing.names import Names
from fairgear.links import LinkAudit, audit_links, split_links
from fairgear.testing import toy_graph
from tests.report.example import HOSTILE


def alike(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
    """Alike in features, and in groups."""
    first, second = graph.x.double()[pairs]
    same = torch.eq(*graph.sens[pairs]).double()
    return torch.sigmoid(same - (first - second).square().mean(dim=1))


@cache
def link_audit(sens: str = "binary", links: str = "undirected") -> LinkAudit:
    """A small audit of a graph of some kind, its people named."""
    graph = toy_graph(sens=sens, links=links)
    graph = graph.replace(
        node_names=tuple(f"Person {i}" for i in range(int(graph.node_id.max()) + 1))
    )
    split = split_links(graph)
    return audit_links(alike, split, draws=1, self_pairs=6, list_people=14, k=4)


def named(groups: tuple[str, ...] = ("men", "women"), attribute: str = "sex") -> LinkAudit:
    """The example in words."""
    return replace(link_audit(), names=Names(groups=groups, attribute=attribute))


def hostile_audit() -> LinkAudit:
    """One whose every name is markup."""
    audit = named((HOSTILE, HOSTILE + "2"), HOSTILE)
    assert audit.lists is not None
    people = tuple(
        replace(
            one,
            person=HOSTILE,
            factual=tuple(replace(who, person=HOSTILE) for who in one.factual),
        )
        for one in audit.lists.people
    )
    return replace(
        audit,
        model=replace(audit.model, name=HOSTILE),
        setup=replace(audit.setup, dataset=HOSTILE),
        lists=replace(audit.lists, people=people),
        notes=(HOSTILE,),
        config={"dataset": HOSTILE},
    )
