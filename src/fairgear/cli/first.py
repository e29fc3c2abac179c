"""The first minutes: what `fairgear` alone says, and `fairgear demo`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.cache import shown_age
from fairgear.cli.flags import examples
from fairgear.cli.output import Json, say
from fairgear.cli.run import run

demo_app = App(
    name="demo",
    help="Train, audit and report on a synthetic graph; needs no data, takes two minutes.",
    help_epilogue=examples("fairgear demo", "fairgear demo --quick --out first"),
)
_STEPS = """fairgear measures whether a graph model treats people alike, and trains models that do.

  See it work       fairgear demo
  Your own data     fairgear data people.csv --label approved --sensitive sex
  Audit a model     fairgear audit module:model people.csv --label approved --sensitive sex
  All commands      fairgear --help"""
# Where `run`, `demo` and `audit` write unless they are told otherwise.
_FOLDERS = ("runs", "audits")
_QUICK = Parameter(negative=())


@demo_app.default
def demo(
    *,
    quick: Annotated[bool | None, _QUICK] = None,
    out: Path = Path("runs/synthetic"),
    json: Json = False,
) -> None:
    """Do what `fairgear run synthetic` does: a table here, and a page to open in a browser.

    Parameters
    ----------
    quick
        Few steps, smaller audit: shows that everything works.
    out
        Folder to write or resume.
    """
    run("synthetic", quick=quick, out=out, json=json)
    if not json:
        say("Next, with your data: fairgear data people.csv --label approved --sensitive sex")


def show_first_steps() -> None:
    """What to do next, and where the latest report is."""
    say(_STEPS)
    found = latest_report()
    if found is not None:
        path, age = found
        say(f"\nLatest report: {path}, written {shown_age(age)} ago")


def latest_report() -> tuple[Path, float] | None:
    """The newest page of a run or an audit in this folder, and its age in seconds."""
    pages = [page for folder in _FOLDERS for page in Path(folder).glob("*/report.html")]
    dated = []
    for page in pages:
        try:
            dated.append((page.stat().st_mtime, page))
        except OSError:
            # It has just gone.
            continue
    if not dated:
        return None
    written, newest = max(dated)
    return newest, max(0.0, time.time() - written)
