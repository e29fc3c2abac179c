"""The page of an audit: one HTML file with everything in it, also for a run that trained."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairgear.auditing import Audit
from fairgear.auditing.provenance import Provenance
from fairgear.files import json_ready, write_text
from fairgear.metrics import EVERY_METRIC
from fairgear.report import numbers
from fairgear.report.sections.comparison import comparison_chart, comparison_verdict
from fairgear.report.sections.diagnostics import diagnostics_section
from fairgear.report.sections.diagram import drawing
from fairgear.report.sections.explorer import explorer_section
from fairgear.report.sections.flips import (
    causal_model_chart,
    causal_model_name,
    dose_chart,
    draws_error,
    flip_section,
)
from fairgear.report.sections.generator import generator_section
from fairgear.report.sections.groups import group_section
from fairgear.report.sections.headline import headline
from fairgear.report.sections.side_by_side import side_by_side
from fairgear.report.sections.training import training_section
from fairgear.report.sections.unknown import unknown_section
from fairgear.report.sections.unmeasured import not_measured, unmeasured
from fairgear.report.sections.verdict import verdict
from fairgear.report.text import on_page
from fairgear.report.world_words import world_words

# Functions that templates write numbers with.
_FILTERS = (
    numbers.attribute,
    numbers.between,
    numbers.between_shares,
    numbers.class_name,
    numbers.count,
    numbers.group_name,
    numbers.measure,
    numbers.megabytes,
    numbers.percent,
    numbers.place,
    numbers.seconds,
    numbers.signed,
    numbers.span,
    causal_model_chart,
    causal_model_name,
    comparison_chart,
    comparison_verdict,
    dose_chart,
    draws_error,
    world_words,
)
# Joined into one of each: the page's policy allows one script, by its hash.
_STYLES = ("page.css", "groups.css", "explorer.css", "evidence.css", "comparison.css")
_SCRIPTS = ("page.js", "ego.js", "facets.js", "explorer.js")
_FACTS = {
    "version": "fairgear",
    "graph_fingerprint": "graph fingerprint (of no file)",
    "python": "Python",
    "torch": "PyTorch",
}


def write_page(audit: Audit, path: Path) -> None:
    """Write the page in one step; an earlier page stays until the new one is complete.

    Example:
        >>> from pathlib import Path
        >>> import fairgear as fg
        >>> from fairgear.report import write_page
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> write_page(audit, Path("audit.html"))
    """
    write_text(Path(path), render_page(audit), private=True)


def render_page(audit: Audit) -> str:
    """The HTML of an audit; the same audit gives the same page.

    The page requests nothing over the network, and its own content policy forbids it.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.report import render_page
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> render_page(audit)[:15]
        '<!DOCTYPE html>'
    """
    script, style = ("\n".join(map(source, names)) for names in (_SCRIPTS, _STYLES))
    training = audit.training
    generator = None if training is None else training.generator
    parts: dict[str, Any] = {
        "diagnostics": audit.diagnostics
        and diagnostics_section(audit.diagnostics, audit.names, two_groups=audit.two_groups),
        "unknown": audit.unknown and unknown_section(audit, audit.unknown),
        "generator": None if generator is None else generator_section(generator),
        "stages": None if training is None else training_section(training),
        "notes": _notes(audit),
    }
    template = environment().get_template("page.html.j2")
    return template.render(
        **parts,
        audit=audit,
        contents=_contents(audit, parts),
        unmeasured=unmeasured(audit),
        not_measured=not_measured(audit),
        metrics=EVERY_METRIC,
        level=numbers.level_of(audit.setup.level),
        attribute_name=numbers.attribute_name(audit.names),
        verdict=verdict(audit),
        headline=headline(audit),
        flips=flip_section(audit),
        sides=side_by_side(audit),
        explorer=audit.what_if and explorer_section(audit, audit.what_if),
        diagram=audit.diagnostics and drawing(audit.diagnostics),
        groups=group_section(audit),
        # How the audit was made, then the settings of the command.
        settings=[
            *settings_rows("audit", json_ready(audit.setup)),
            *settings_rows("command", audit.config),
        ],
        facts=facts_of(audit.provenance),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(style),
    )


def _contents(audit: Audit, parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sections that the page has: their ids, which name their templates too, and titles."""
    every = (
        ("verdict", "Verdict", True),
        ("explorer", "What if?", audit.what_if and audit.what_if.people),
        ("comparison", "Comparison", audit.comparison),
        ("groups", "Groups", True),
        ("flips", "Flips", True),
        ("causal-models", "Other causal models", audit.causal_models),
        ("causal-model", "Causal model", parts["diagnostics"]),
        ("unknown", "Unknown attribute", parts["unknown"]),
        # Where there is an explorer, it has them.
        ("affected", "Most affected people", audit.affected and not audit.what_if),
        ("measures", "All measures", True),
        ("generator", "Generator", parts["generator"]),
        ("training", "Training", parts["stages"]),
        ("notes", "Notes", parts["notes"]),
        ("settings", "Settings", True),
        ("provenance", "Provenance", True),
        ("reading", "How to read this", True),
    )
    said = unmeasured(audit)
    return [(id, title) for id, title, present in every if present or id in said]


def settings_rows(title: str, values: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The settings of each level under the names that lead to it: titles and rows."""
    own = [(str(k), _written(v)) for k, v in values.items() if not isinstance(v, Mapping)]
    found = [(title, own)] if own else []
    path = "" if title == "command" else f"{title}."
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += settings_rows(f"{path}{name}", value)
    return found


def _written(value: object) -> str:
    """As a settings file would have it, so that it can be copied into one."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _notes(audit: Audit) -> list[str]:
    """The notes that the page does not show elsewhere."""
    shown = [] if audit.probes is None else audit.probes.cautions()
    shown += [] if audit.causal_models is None else [audit.causal_models.verdict]
    shown += [] if audit.unknown is None else [audit.unknown.summary]
    return [note for note in audit.notes if note not in shown]


def facts_of(provenance: Provenance | None) -> list[tuple[str, str]]:
    """The provenance without what has a place of its own."""
    return [
        (_FACTS.get(key, key.replace("_", " ")), str(value))
        for key, value in (json_ready(provenance) or {}).items()
        if key not in ("stages", "files", "command") and value != ""
    ]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """What renders the templates of all pages."""
    made = Environment(
        loader=PackageLoader("fairgear.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=on_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {function.__name__: function for function in _FILTERS}
    return made


def source(name: str) -> str:
    """The text of a template, a style or a script."""
    held = environment()
    assert held.loader is not None
    return held.loader.get_source(held, name)[0]
