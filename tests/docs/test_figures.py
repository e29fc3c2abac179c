"""The figures of the concepts show what their script computes."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from tests.docs.pages import NEAR_TRAINED, ROOT

FOLDER = ROOT / "docs" / "concepts"


@pytest.fixture(scope="module")
def figures() -> Any:
    spec = importlib.util.spec_from_file_location("figures", FOLDER / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept() -> Any:
    return json.loads((FOLDER / "figures" / "figures.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["world", "coverage"])
def test_what_is_drawn_is_what_is_computed(name: str, figures: Any, kept: Any) -> None:
    assert getattr(figures, name)() == kept[name]


def test_the_world_is_that_of_the_equations(figures: Any, kept: Any) -> None:
    """Links of the person are gained and lost, and nobody else's are."""
    person = kept["world"]["person"]
    before, after = ({tuple(pair) for pair in kept["world"][key]} for key in ("as it is", "moved"))
    assert before - after
    assert after - before
    assert all(person in pair for pair in before ^ after)


def test_models_of_the_measures(figures: Any, kept: Any) -> None:
    for name, row in figures.measures().items():
        for key, values in row.items():
            assert values == pytest.approx(kept["measures"][name][key], abs=NEAR_TRAINED), name
    # What the page says of them.
    assert kept["measures"]["constant"]["delta_cf_self"][0] == 0
    assert kept["measures"]["constant"]["delta_dp"][0] == 0
    assert kept["measures"]["without the column"]["delta_cf_self"][1] > 0


def test_the_family_is_that_of_an_audit(figures: Any, kept: Any) -> None:
    found = figures.family()
    assert found.keys() == kept["family"].keys()
    for name, values in found.items():
        assert values == pytest.approx(kept["family"][name], abs=NEAR_TRAINED), name


def test_every_figure_is_on_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md"))
    drawn = sorted(path.name for path in (FOLDER / "figures").glob("*.svg"))
    assert len(drawn) == 4
    for name in drawn:
        assert f"(figures/{name})" in pages
