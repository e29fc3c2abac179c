"""Each dataset's page says where it is from, and what the command counts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from fairgear.datasets import DATASETS, load, statistics
from fairgear.graph import SensitiveGraph

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "datasets"


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(DATASETS))
def test_a_page_for_each(name: str) -> None:
    for heading in ("## Source", "## Statistics", "## Known problems", "## Not to be used for"):
        assert heading in page(name)
    for file in DATASETS[name].files:
        assert file.sha256 in page(name)
        assert file.url in page(name)
    assert f"({name}.md)" in page("index")


def test_the_counts_on_the_page_are_the_graphs(published: SensitiveGraph) -> None:
    check(published)


@pytest.mark.parametrize("name", ["synthetic", "synthetic-neighbours"])
def test_the_counts_of_the_sampled_graphs(name: str) -> None:
    check(load(name))


def check(graph: SensitiveGraph) -> None:
    counted = asdict(statistics(graph))
    for key in ("name", "train", "val", "test"):
        del counted[key]
    for key, value in counted.items():
        shown = f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"
        shown = "–" if value != value else shown  # rates of more than two groups or classes
        assert f"| {key.replace('_', ' ')} | {shown} |" in page(graph.name)


def test_the_counts_of_expenses(expenses: SensitiveGraph) -> None:
    check(expenses)


@pytest.mark.parametrize("name", list(DATASETS))
def test_entries(name: str) -> None:
    dataset = DATASETS[name]
    assert dataset.name == name
    assert dataset.source
    assert dataset.licence
    assert dataset.problems
    for file in dataset.files:
        assert file.url.startswith("https://")
        assert file.url.endswith(Path(file.path).name)
        assert len(file.sha256) == 64
        # One file serves two datasets.
        assert file.path.startswith(f"{name.removesuffix('-expenses')}/")
