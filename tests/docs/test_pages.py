"""Every page: its links and pictures lead somewhere, and it is not too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_code_on_pages import DOCS, PAGES, name

RESULTS = DOCS / "results"
# Written by benchmarks/pages.py as a whole: tables.
GENERATED = {RESULTS / "comparison.md", RESULTS / "performance.md"}
WRITTEN = [
    page
    for page in PAGES
    if page not in GENERATED and not {"judging", "reproduction"} & set(page.parent.parts)
]
MOST_WORDS = 2500


def words(text: str) -> list[str]:
    """Those of a page, with its code, besides tables."""
    return [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]


@pytest.mark.parametrize("page", WRITTEN, ids=name)
def test_a_page_is_short(page: Path) -> None:
    most = 900 if page == ROOT / "README.md" else MOST_WORDS
    assert len(words(page.read_text(encoding="utf-8"))) <= most


def test_words_of_code_count_and_tables_do_not() -> None:
    assert words("| a table |\n\n```python\nx = 1\n```\ntwo words\n") == [
        "```python",
        *("x", "=", "1"),
        "```",
        *("two", "words"),
    ]


def links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Each link and picture to something here: as written, its file, its anchor."""
    text = re.sub(r"```.*?```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith(("http:", "https:")):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path if path else page), anchor


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name)
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    for link, target, anchor in links(page):
        assert target.exists(), link
        # What leads out of the repository leads nowhere once it is published.
        assert target.resolve().is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target.resolve()), link


@cache
def anchors(page: Path) -> set[str]:
    """The names of headings on code-hosting sites: lower case, words joined by hyphens."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_every_page_can_be_reached_by_links() -> None:
    """From the page that the site, or a reader of the repository, begins with."""
    for start in (DOCS / "index.md", ROOT / "README.md"):
        found, waiting = set(), [start]
        while waiting:
            page = waiting.pop()
            if page in found:
                continue
            found.add(page)
            waiting += [
                target.resolve()
                for _, target, _ in links(page)
                if target.suffix == ".md" and target.resolve().is_relative_to(DOCS)
            ]
        left = {page for page in PAGES if page.is_relative_to(DOCS)} - found
        assert left <= {DOCS / "index.md", DOCS / "gallery" / "index.md"}, sorted(map(str, left))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_page_stands_in_a_table_of_contents(page: Path) -> None:
    if not page.is_relative_to(DOCS) or page in {DOCS / "index.md", DOCS / "gallery" / "index.md"}:
        return
    section = page.parent / "index.md"
    if page == section:
        section = page.parent.parent / "index.md"
    while not section.exists():
        section = section.parents[1] / "index.md"
    listed = re.findall(
        r"```\{toctree\}\n(?::\w+:.*\n)*\n(.*?)```",
        section.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert page.relative_to(section.parent).with_suffix("").as_posix() in listed[0].split()


def test_terms_of_the_glossary_are_sorted_and_used() -> None:
    glossary = DOCS / "reference" / "glossary.md"
    heads = re.findall(r"^## (.*)$", glossary.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert heads == sorted(heads, key=str.lower)
    used = {
        anchor
        for page in PAGES
        for _, target, anchor in links(page)
        if target.name == "glossary.md"
    }
    assert len(used) >= 10


def test_pages_that_code_names_exist() -> None:
    """In docstrings, comments and messages."""
    for folder in ("src", "tests", "benchmarks", "examples", "docs"):
        for path in (ROOT / folder).rglob("*.py"):
            for page in re.findall(r"\bdocs/[\w./-]+\.md\b", path.read_text(encoding="utf-8")):
                assert (ROOT / page).exists() or page in MADE_UP, f"{path.name}: {page}"


# Where a dataset's page is to be written.
MADE_UP = {"docs/reference/datasets/NAME.md"}
NUMBERS = re.compile(r"^\| `(?:model/)?([\w.]+)` \|[^|]*\| (\d+) \|", re.MULTILINE)


def test_formats_are_those_of_the_code() -> None:
    from fairgear.auditing import result
    from fairgear.auditing.exchange import manifest
    from fairgear.graph.stored import folder
    from fairgear.graph.tables import encoding
    from fairgear.methods import saved

    page = (DOCS / "development" / "versions.md").read_text(encoding="utf-8")
    assert {name: int(number) for name, number in NUMBERS.findall(page)} == {
        "model.json": saved.FORMAT,
        "encoding.json": encoding._FORMAT,
        "audit.json": result.FORMAT,
        "key.json": manifest.FORMAT,
        "meta.json": folder.FORMAT,
    }
