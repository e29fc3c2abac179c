"""Templates filled in: pages that carry their own style and their own script."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def render(template: str, **sections: object) -> str:
    """The page that `template` makes of `sections`; the same sections give the same page.

    No part of it asks for anything over the network, and its own content policy forbids it to.
    """
    script, style = _source("page.js"), _source("page.css")
    return (
        _environment()
        .get_template(template)
        .render(
            **sections,
            script=Markup(script),
            script_hash=_digest(script),
            style=Markup(style),
        )
    )


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
