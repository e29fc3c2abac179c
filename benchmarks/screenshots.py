"""Make the pictures of docs/guides/report.md: an audit of a small GraphSAGE, in light and dark.

    .venv/bin/python -m benchmarks.screenshots

The people of examples/people.csv are invented. Needs Chromium.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from benchmarks import DOCS
from fairgear.cli import main

PICTURES = DOCS / "guides" / "report"
EXAMPLES = DOCS.parent / "examples"
# Width and height of the first screen: a laptop, a telephone.
SCREENS = ((1280, 1000), (390, 844))
# Sections that are shown whole, and at which of the widths.
SECTIONS = {"explorer": (1280, 390), "groups": (1280,)}
# Few colours are used, and a picture of them takes a third of the room.
COLOURS = 128


def take(folder: Path, picture: Path) -> None:
    """Train, audit everybody, and photograph the page."""
    data = [str(EXAMPLES / "people.csv"), "--edges", str(EXAMPLES / "friends.csv")]
    data += ["--label", "approved", "--sensitive", "sex"]
    os.chdir(folder)
    done = main(["run", *data, "--method", "graphsage", "--out", "graphsage"])
    done = done or main(["audit", "graphsage", "--nodes", "all", "--out", "audit"])
    if done:
        sys.exit(done)
    picture.mkdir(exist_ok=True)
    path = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = folder / "audit" / "report.html"
        for dark in (False, True):
            for width, height in SCREENS:
                _photograph(browser, page, picture, width, height, dark=dark)
        browser.close()


def _photograph(
    browser: Browser, page: Path, folder: Path, width: int, height: int, *, dark: bool
) -> None:
    name = f"{'dark' if dark else 'light'}-{width}.png"
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    shown = context.new_page()
    shown.goto(page.as_uri())
    _save(shown.screenshot(), folder / f"first-{name}")
    # Nothing scrolls, so that what stays in place on the screen covers nothing.
    shown.set_viewport_size({"width": width, "height": 9000})
    for section, widths in SECTIONS.items():
        if width in widths:
            _save(shown.locator(f"#{section}").screenshot(), folder / f"{section}-{name}")
    context.close()


def _save(content: bytes, path: Path) -> None:
    Image.open(io.BytesIO(content)).convert("RGB").quantize(
        COLOURS, Image.Quantize.MAXCOVERAGE
    ).save(path, optimize=True)


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        take(Path(temporary), PICTURES)
