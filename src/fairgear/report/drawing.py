"""What the figures of an audit share: the page's colours, and a figure that notebooks show."""

from __future__ import annotations

from io import BytesIO

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Those of `templates/page.css` on light paper.
INK, SOFT, LINE, GREY = "#16191d", "#555d68", "#d9dde3", "#6b7280"
BLUE, ORANGE, GREEN, RED, BAND = "#1559a8", "#a94a06", "#17694a", "#b3261e", "#96b9e2"
# Neighbours in this order are told apart by colour-blind readers, and by their shapes.
SERIES = (BLUE, ORANGE, GREEN, GREY, BAND, RED)
SHAPES = ("o", "s", "^", "D", "v", "P")


class Drawing(Figure):
    """A figure that a notebook shows without pyplot; nothing opens a window."""

    def _repr_png_(self) -> bytes:
        held = BytesIO()
        self.savefig(held, format="png", dpi=120, facecolor="white")
        return held.getvalue()


def drawing(width: float, height: float, title: str) -> Drawing:
    """An empty figure; the title is plain text, whatever signs a name has."""
    figure = Drawing(figsize=(width, height), layout="constrained", facecolor="white")
    figure.suptitle(plain_text(title), fontsize=10.5, color=INK, x=0.01, ha="left")
    return figure


def tidy(axes: Axes, *, grid: str = "x") -> None:
    """Thin lines where they help, none where they do not."""
    axes.set_axisbelow(True)
    axes.grid(visible=True, axis=grid, color=LINE, linewidth=0.7)  # type: ignore[arg-type]
    axes.tick_params(labelsize=8.5, colors=SOFT, length=0)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def plain_text(text: str) -> str:
    """`text` as it is: matplotlib would set what stands between dollar signs as a formula."""
    return text.replace("$", r"\$")
