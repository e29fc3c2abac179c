"""The tables of Local Law 144 as Markdown and CSV, as 6 RCNY § 5-301 shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fairgear.auditing import Audit
from fairgear.auditing.groups import SMALL_SHARE
from fairgear.auditing.people_csv import safe_cell
from fairgear.files import write_text
from fairgear.report.markdown import bullets, inline, line, table
from fairgear.report.numbers import UNDEFINED, attribute_name, count
from fairgear.report.text import visible

_SELECTION = {
    "applicants": "# of applicants",
    "selected": "# selected",
    "selection_rate": "Selection rate",
    "impact_ratio": "Impact ratio",
}
_SCORING = {
    "applicants": "# of applicants",
    "scoring_rate": "Scoring rate",
    "scoring_impact_ratio": "Impact ratio",
}

# Columns of the CSV that hold words of the data or about them.
_WORDS = ("categories", "category", "answer", "excluded")


def write_ll144(audit: Audit, path: Path) -> None:
    """Write two files of this name: .md, and .csv with the numbers unrounded.

    Example:
        >>> from pathlib import Path
        >>> import fairgear as fg
        >>> from fairgear.report import write_ll144
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.x[:, 0].sigmoid(), toy_graph(), what_if_people=0)
        >>> write_ll144(audit, Path("ll144"))
        >>> sorted(path.name for path in Path().glob("ll144*"))
        ['ll144.csv', 'll144.md']
    """
    found = audit.ll144()
    write_text(path.with_suffix(".md"), _markdown(audit, found))
    safe = found.assign(**{name: found[name].map(safe_cell) for name in _WORDS})
    write_text(path.with_suffix(".csv"), safe.to_csv(index=False, lineterminator="\n"))


def ll144_markdown(audit: Audit) -> str:
    """The tables, with what they leave out and why.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.report import ll144_markdown
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.x[:, 0].sigmoid(), toy_graph(), what_if_people=0)
        >>> ll144_markdown(audit).splitlines()[0]
        '# Impact ratios (New York City Local Law 144, 6 RCNY § 5-301)'
    """
    return _markdown(audit, audit.ll144())


def _markdown(audit: Audit, found: pd.DataFrame) -> str:
    parts = [
        "# Impact ratios (New York City Local Law 144, 6 RCNY § 5-301)",
        line(
            f"{audit.model.name} on {audit.setup.dataset}: {count(audit.setup.people)} people "
            "assessed."
        ),
        bullets(_about(audit)),
    ]
    for (answer, title), rows in found.groupby(["answer", "categories"], sort=False):
        several = found["answer"].nunique() > 1
        head = f"{title}, answer “{answer}”" if several else str(title)
        parts += [f"## {inline(head)}", *_tables(rows)]
    # Names are printed on terminals too, which some characters steer.
    text: str = visible("\n\n".join(parts) + "\n")
    return text


def _about(audit: Audit) -> list[str]:
    sentences = [
        "The rule asks for sex categories, race/ethnicity categories and both crossed. This audit "
        f"has {attribute_name(audit.names)}.",
        "Impact ratio: the rate of a category divided by the highest rate. Categories with less "
        f"than {100 * SMALL_SHARE:g} % of the people whose category is known are left out of that.",
    ]
    if audit.target.is_binary:
        classes = audit.names.classes or audit.target.classes
        sentences.insert(1, f"Selected are the people with answer “{classes[1]}”.")
    if audit.target.is_binary or audit.target.is_number:
        sentences.append(
            "Scoring rate: the share of people whose score is above the median score of all "
            "people assessed."
        )
    return sentences


def _tables(rows: pd.DataFrame) -> list[str]:
    """One of people selected and one of scores, as far as there are both; then what is left out."""
    # A category of the data may be called unknown too.
    known = rows[rows["share"].notna()]
    found = []
    for columns in (_SELECTION, _SCORING):
        rate = next(of for of in columns if of.endswith("_rate"))
        if known[rate].notna().any():
            found.append(_table(columns, known))
    (unknown,) = rows.loc[rows["share"].isna(), "applicants"]
    said = [
        f"{one.category}: left out of the impact ratios, {one.excluded}."
        for one in known[known["excluded"] != ""].itertuples()
    ]
    said.append(f"People of unknown category, not included above: {count(unknown)}.")
    return [*found, bullets(said)]


def _table(columns: Mapping[str, str], rows: pd.DataFrame) -> str:
    cells = [
        (
            str(one["category"]),
            *(_cell(column, one[column], excluded=bool(one["excluded"])) for column in columns),
        )
        for _, one in rows.iterrows()
    ]
    return table(("Category", *columns.values()), cells)


def _cell(column: str, value: float, *, excluded: bool) -> str:
    """A count, a rate with one decimal or a ratio with two, as the rule's examples have them."""
    if pd.isna(value):
        return "excluded" if excluded else UNDEFINED
    if column.endswith("_ratio"):
        return f"{value:.2f}"
    return f"{100 * value:.1f} %" if column.endswith("_rate") else count(value)
