"""The page of a run: one HTML file with everything in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgear.files import write_text
from fairgear.report.cards import other_cards
from fairgear.report.diagnostics import diagnostics_section
from fairgear.report.flips import flip_section
from fairgear.report.generator import generator_section
from fairgear.report.groups import group_section
from fairgear.report.headline import headline
from fairgear.report.numbers import stated_level
from fairgear.report.parts import notes, whole
from fairgear.report.provenance import provenance_section
from fairgear.report.rendering import render
from fairgear.report.settings import setting_groups
from fairgear.report.training import training_section


def render_page(run: Mapping[str, Any]) -> str:
    """The HTML of a run, from what its `metrics.json` holds; the same run gives the same page.

    Whatever is missing is left out or said to be missing.
    """
    whole(run, "run")
    return render(
        "page.html.j2",
        subject="run",
        level=stated_level(run),
        headline=headline(run),
        other_cards=other_cards(run),
        notes=notes(run),
        flips=flip_section(run),
        groups=group_section(run),
        generator=generator_section(run),
        diagnostics=diagnostics_section(run),
        stages=training_section(run),
        settings=setting_groups(run, "run"),
        provenance=provenance_section(run),
    )


def write_page(run: Mapping[str, Any], path: Path) -> None:
    """Write the page of a run in one step; what was there stays until the new one is whole."""
    write_text(Path(path), render_page(run))
