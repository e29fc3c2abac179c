"""The drawing of a diagram: causes stand left of their effects, and nothing covers anything."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from fairgear.causal import Diagnostics
from fairgear.report.sections.diagram import Drawing, drawing
from tests.report.example import example


@st.composite
def diagrams(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Parents among the nodes before, so that there is no cycle."""
    names = [f"column {k}" for k in range(draw(st.integers(1, 9)))]
    return {
        name: tuple(draw(st.lists(st.sampled_from(names[:k]), unique=True))) if k else ()
        for k, name in enumerate(names)
    }


def drawn(parents: Mapping[str, tuple[str, ...]], *resolving: str) -> Drawing:
    found = drawing(Diagnostics("mine", False, (), diagram=parents, resolving=resolving))
    assert found is not None
    return found


@given(diagrams())
def test_arrows_go_to_the_right_and_boxes_stand_apart(parents: dict[str, tuple[str, ...]]) -> None:
    found = drawn(parents)
    assert sorted(box.name for box in found.boxes) == sorted(parents)
    assert len(found.arrows) == sum(map(len, parents.values()))
    assert all(arrow.x1 < arrow.x2 for arrow in found.arrows)
    assert len({(box.x, box.y) for box in found.boxes}) == len(found.boxes)
    for box in found.boxes:
        assert 0 <= box.x <= found.width - found.box_width
        assert 0 <= box.y <= found.height - found.box_height


def test_names_kinds_and_words() -> None:
    long = "a column with a very long name"
    found = drawn({"sex": (), "job": ("sex",), long: ("sex", "job")}, "job")
    kinds = {box.name: box.kind for box in found.boxes}
    assert kinds == {"sex": "column", "job": "resolving", long: "column"}
    (cut,) = (box.text for box in found.boxes if box.name == long)
    assert cut.endswith("…")
    assert len(cut) < len(long)
    assert found.summary == f"job follows from sex. {long} follows from sex, job."


def test_no_diagram_no_drawing() -> None:
    audit = example()
    assert audit.diagnostics is not None
    assert drawing(audit.diagnostics) is not None
    assert drawing(Diagnostics("mine", False, ())) is None
