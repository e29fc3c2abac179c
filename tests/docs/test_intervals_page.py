"""docs/concepts/intervals.md: the coverage of intervals is that of the rows."""

from __future__ import annotations

import pandas as pd

from benchmarks import DOCS
from benchmarks.interval_coverage import ROWS, table


def test_the_table_is_that_of_the_rows() -> None:
    page = (DOCS / "concepts" / "intervals.md").read_text()
    assert f"<!-- coverage -->\n{table()}\n<!-- /coverage -->" in page


def test_what_the_page_says_of_the_rows() -> None:
    rows = pd.read_csv(ROWS)
    covered = (
        rows[rows["rule"] == "regions"]
        .set_index(["shared", "graph", "rate"])["covered"]
        .sort_index()
    )
    for shared in ("nothing", "community 0.1", "community 0.3"):
        assert covered[shared].min() >= 0.945
    steps = covered["two steps 0.3"].drop("german, 1,000")
    assert steps.min() >= 0.915
    widths = rows[rows["shared"] == "nothing"].pivot_table("width", ["graph", "rate"], "rule")
    wider = widths["regions"] / widths["communities"]
    assert wider.max() < 1.14
    nobody = widths.xs(0.0, level="rate")
    assert (nobody["regions"] / nobody["as one"]).max() < 0.28
