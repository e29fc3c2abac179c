"""The page of a run: one HTML file with everything in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fairgear.errors import ParameterError
from fairgear.files import write_text
from fairgear.report.cards import other_cards
from fairgear.report.flips import flip_section
from fairgear.report.generator import generator_section
from fairgear.report.groups import group_section
from fairgear.report.headline import headline
from fairgear.report.parts import mapping, sequence
from fairgear.report.provenance import provenance_section
from fairgear.report.settings import setting_groups
from fairgear.report.training import training_section


def render_page(run: Mapping[str, Any]) -> str:
    """The HTML of a run, from what its `metrics.json` holds; the same run gives the same page.

    Whatever is missing is left out or said to be missing. No part of the page asks for anything
    over the network, and its own content policy forbids it to.
    """
    if not isinstance(run, Mapping):
        raise ParameterError(
            "run",
            got=type(run).__name__,
            allowed="the object that metrics.json of a run folder holds",
            next_step="read the file with json.load and pass what it gives",
        )
    notes = [str(note) for note in sequence(mapping(run, "details"), "notes")]
    script, style = _source("page.js"), _source("page.css")
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            headline=headline(run),
            other_cards=other_cards(run),
            notes=notes,
            flips=flip_section(run),
            groups=group_section(run),
            generator=generator_section(run),
            stages=training_section(run),
            settings=setting_groups(run),
            provenance=provenance_section(run),
            script=Markup(script),
            script_hash=_digest(script),
            style=Markup(style),
        )
    )


def write_page(run: Mapping[str, Any], path: Path) -> None:
    """Write the page of a run in one step; what was there stays until the new one is whole."""
    write_text(Path(path), render_page(run))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fairgear.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(name: str) -> str:
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _digest(script: str) -> str:
    """What the content policy calls the one script that may run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
