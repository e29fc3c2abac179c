"""The page of an audit: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgear.files import write_text
from fairgear.report.affected import affected_section
from fairgear.report.audit_headline import audit_headline
from fairgear.report.cards import other_cards
from fairgear.report.causal_models import causal_model_section
from fairgear.report.comparison import comparison_section
from fairgear.report.diagnostics import diagnostics_section
from fairgear.report.flips import flip_section
from fairgear.report.groups import group_section
from fairgear.report.numbers import stated_level
from fairgear.report.parts import notes, whole
from fairgear.report.provenance import provenance_section
from fairgear.report.rendering import render
from fairgear.report.settings import setting_groups


def render_audit(audit: Mapping[str, Any]) -> str:
    """The HTML of an audit of any model; the same audit gives the same page.

    Whatever is missing is left out or said to be missing.

    Args:
        audit: metrics, intervals, config, provenance and details as in a run, and what only an
            audit has: the model, other causal models, the people most affected, a comparison.
    """
    whole(audit, "audit")
    return render(
        "audit.html.j2",
        subject="audit",
        level=stated_level(audit),
        headline=audit_headline(audit),
        other_cards=other_cards(audit),
        comparison=comparison_section(audit),
        flips=flip_section(audit),
        causal_models=causal_model_section(audit),
        diagnostics=diagnostics_section(audit),
        groups=group_section(audit, in_full=True),
        affected=affected_section(audit),
        notes=notes(audit),
        settings=setting_groups(audit, "audit"),
        provenance=provenance_section(audit),
    )


def write_audit(audit: Mapping[str, Any], path: Path) -> None:
    """Write the page of an audit in one step; what was there stays until the new one is whole."""
    write_text(Path(path), render_audit(audit))
