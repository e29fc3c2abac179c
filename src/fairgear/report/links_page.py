"""The page of an audit of links: one HTML file with everything in it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fairgear.auditing import Training
from fairgear.files import json_ready, write_text
from fairgear.links.metrics import LINK_METRICS
from fairgear.links.result import LinkAudit
from fairgear.report import numbers
from fairgear.report.charts import IntervalChart, Scale, dot, ranged, scale_over
from fairgear.report.page import environment, facts_of, settings_rows, source
from fairgear.report.sections.headline import Card
from fairgear.report.sections.link_lists import list_section, worlds_words
from fairgear.report.sections.link_verdict import MEANINGS, cell_words, colour, link_verdict
from fairgear.report.sections.training import training_section

_STYLES = ("page.css", "evidence.css", "links.css")
_ACCURATE = ("auroc", "average_precision", "accuracy", "hits_at_k")


@dataclass(frozen=True)
class _Row:
    """A row of a table: its name, and its cells as they are written."""

    name: str
    cells: tuple[str, ...]
    strong: bool = False


def write_links_page(audit: LinkAudit, path: Path) -> None:
    """Write the page in one step; an earlier page stays until the new one is complete.

    Example:
        >>> from pathlib import Path
        >>> from fairgear.links import audit_links, split_links
        >>> from fairgear.report import write_links_page
        >>> from fairgear.testing import toy_graph
        >>> def same_group(graph, pairs):
        ...     return (graph.sens[pairs[0]] == graph.sens[pairs[1]]).double()
        >>> audit = audit_links(same_group, split_links(toy_graph()), draws=1, self_pairs=5)
        >>> write_links_page(audit, Path("links.html"))
    """
    write_text(Path(path), render_links_page(audit), private=True)


def render_links_page(audit: LinkAudit) -> str:
    """The HTML of an audit of links; it requests nothing over the network.

    Example:
        >>> from fairgear.links import audit_links, split_links
        >>> from fairgear.report import render_links_page
        >>> from fairgear.testing import toy_graph
        >>> def alike(graph, pairs):
        ...     return -(graph.x[pairs[0]] - graph.x[pairs[1]]).square().sum(dim=1)
        >>> audit = audit_links(alike, split_links(toy_graph()), draws=1, self_pairs=5)
        >>> render_links_page(audit)[:15]
        '<!DOCTYPE html>'
    """
    script, style = source("page.js"), "\n".join(map(source, _STYLES))
    found = link_verdict(audit)
    lists = list_section(audit, audit.lists) if audit.lists else None
    stages = training_section(Training(audit.training, None)) if audit.training else ()
    accurate, others = _cards(audit)
    parts: dict[str, Any] = {"lists": lists, "stages": stages, "flips": _flips(audit)}
    return (
        environment()
        .get_template("links.html.j2")
        .render(
            **parts,
            audit=audit,
            verdict=found,
            colour=colour(found),
            level=numbers.level_of(audit.setup.level),
            attribute_name=numbers.attribute_name(audit.names),
            contents=_contents(audit, parts),
            cells=_cells(audit),
            flip_rows=_flip_rows(audit),
            references=_references(audit),
            accurate=accurate,
            others=others,
            notes=audit.notes,
            settings=[
                *settings_rows("audit", json_ready(audit.setup)),
                *settings_rows("command", audit.config),
            ],
            facts=facts_of(audit.provenance),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            style=Markup(style),
        )
    )


def _contents(audit: LinkAudit, parts: dict[str, Any]) -> list[tuple[str, str]]:
    """The sections that the page has: their ids and titles."""
    lists = parts["lists"]
    every = (
        ("verdict", "Verdict", True),
        ("people", "A person’s list", lists and lists.people),
        ("exposure", "Who is shown", lists and lists.rows),
        ("cells", "Pairs of groups", audit.cells),
        ("flips", "Flips", parts["flips"]),
        ("measures", "All measures", True),
        ("training", "Training", parts["stages"]),
        ("notes", "Notes", audit.notes),
        ("settings", "Settings", True),
        ("provenance", "Provenance", audit.provenance),
        ("reading", "How to read this", True),
    )
    return [(id, title) for id, title, present in every if present]


def _cells(audit: LinkAudit) -> list[_Row]:
    """Pairs within a group and between groups, then every pair of groups."""
    named = {"same": "within a group", "different": "between groups"}
    return [
        _Row(
            named.get(cell.name) or cell_words(audit, cell.first, cell.second),
            (
                numbers.count(cell.pairs),
                numbers.count(cell.linked),
                *_shared(cell.rate, cell.interval),
                *_shared(cell.rate_linked, cell.interval_linked),
                *_shared(cell.delta_cf, cell.interval_cf),
            ),
            strong=cell.first is None,
        )
        for cell in audit.cells
    ]


def _shared(value: float, ends: Any) -> tuple[str, str]:
    """A share and its interval; a dash where nothing was measured."""
    if value != value:
        return "—", ""
    return numbers.percent(value), numbers.between_shares(ends) if ends.defined else ""


def _flips(audit: LinkAudit) -> IntervalChart | None:
    """δCF of every intervention."""
    if not audit.flips:
        return None
    scale: Scale = scale_over([(row.rate, row.interval) for row in audit.flips])
    dots = tuple(
        dot(
            scale,
            worlds_words(audit, row.intervention),
            "strict",
            row.rate,
            row.interval,
            [("pairs", numbers.count(row.pairs)), ("worlds", numbers.count(row.draws))],
            numbers.percent,
        )
        for row in audit.flips
    )
    return IntervalChart("Predictions that change", scale.ticks(), dots)


def _flip_rows(audit: LinkAudit) -> list[_Row]:
    return [
        _Row(
            worlds_words(audit, row.intervention),
            (
                numbers.percent(row.rate),
                numbers.between_shares(row.interval) if row.interval.defined else "",
                numbers.percent(row.gained),
                numbers.percent(row.lost),
                numbers.measure(row.score_size),
                numbers.count(row.pairs),
                numbers.count(row.draws),
            ),
        )
        for row in audit.flips
    ]


def _references(audit: LinkAudit) -> list[_Row]:
    """The model beside those without judgement."""
    keys = ("auroc", "delta_cf", "delta_cf_either", "gap_same_different")
    models = [(audit.model.name, audit.metrics), *((r.name, r.metrics) for r in audit.references)]
    return [
        _Row(name, tuple(_known(metrics.get(key)) for key in keys), strong=index == 0)
        for index, (name, metrics) in enumerate(models)
    ]


def _known(value: float | None) -> str:
    return "—" if value is None or value != value else numbers.measure(value)


def _cards(audit: LinkAudit) -> tuple[list[Card], list[Card]]:
    """The measures of accuracy, and all others that are defined."""
    made = {
        key: Card(metric, MEANINGS[key], value, ends, ranged(scale, value, ends), "")
        for key, metric in LINK_METRICS.items()
        if key in audit.metrics
        for value, ends in [(audit.metrics[key], audit.intervals[key])]
        for scale in [Scale(metric.low, min(metric.high, 2.0), 1.0)]
        if value == value or key in _ACCURATE
    }
    accurate = [made[key] for key in _ACCURATE if key in made]
    return accurate, [card for key, card in made.items() if key not in _ACCURATE]
