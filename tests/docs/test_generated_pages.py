"""Pages: tables are those of the rows in docs/results, links lead somewhere, texts are short."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from benchmarks import DOCS, RESULTS, pages

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
WRITTEN = [page for page in PAGES if RESULTS not in page.parents]


@pytest.mark.parametrize("name", ["comparison", "gear", "performance", "reliability", "worlds"])
def test_tables_are_those_of_the_rows(name: str) -> None:
    for page, text in getattr(pages, name)().items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page


def test_tables_of_sealed_people_are_those_of_the_rows(tmp_path: Path) -> None:
    for page, text in pages.judged(tmp_path, draw=False).items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page
    for name in ("judged.csv", "verdicts.csv"):
        assert (tmp_path / name).read_bytes() == (pages.JUDGING / name).read_bytes(), name


def test_tables_of_the_reproduction_are_those_of_the_rows(tmp_path: Path) -> None:
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, "credit").exists():
        pytest.skip("FAIRGEAR_DATA names no folder with the files that Table 1 counts")
    for page, text in pages.reproduction(tmp_path, draw=False).items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page
    for path in tmp_path.glob("*.csv"):
        kept = RESULTS / "reproduction" / path.name
        assert path.read_bytes() == kept.read_bytes(), path.name


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_a_page_is_short(page: Path) -> None:
    """Tables and code apart."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = [
        word for line in text.splitlines() if not line.startswith("|") for word in line.split()
    ]
    assert len(words) <= (900 if page.name == "README.md" else 2500)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_figures_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http:", "https:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target), link


def _anchors(page: Path) -> set[str]:
    """The names that headings get on GitHub: lower case, words joined by hyphens."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
