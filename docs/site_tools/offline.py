"""Whether pages ask another host for anything when they are opened. Links may lead anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# Attributes whose address is fetched with the page. `href` is, of `link` alone.
_FETCHED = ("src", "srcset", "poster", "data", "background")
_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?\s*((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
# A page may name its own address, and where one can read on.
_NOT_FETCHED = {"canonical", "license", "author", "next", "prev", "search", "index", "help"}


class _Fetched(HTMLParser):
    """Collects what a page fetches from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        addresses = [part for name in _FETCHED for part in told.get(name, "").split()]
        if tag == "link" and not _NOT_FETCHED & set(told.get("rel", "").split()):
            addresses.append(told.get("href", ""))
        self.found += [one for one in addresses if re.match(r"(?:https?:)?//", one.strip())]
        self.found += _STYLE.findall(told.get("style", ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.found += _STYLE.findall(data)


def fetched(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each page and style sheet with an address elsewhere that it fetches."""
    for path in sorted(folder.rglob("*.html")):
        page = _Fetched()
        page.feed(path.read_text(encoding="utf-8"))
        yield from ((path, address) for address in page.found)
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        yield from ((path, address) for address in _STYLE.findall(text))


def check(app: Sphinx, error: Exception | None) -> None:
    """Refuse a site that could not be read without a network."""
    if error is not None or app.builder.format != "html":
        return
    for path, address in fetched(Path(app.outdir)):
        raise ExtensionError(f"{path} asks another host: {address}")
