"""An audit as a notebook shows it: the verdict, and every measure with its interval."""

from __future__ import annotations

from fairgear.auditing import Audit
from fairgear.metrics import EVERY_METRIC
from fairgear.notebook import as_table
from fairgear.report.numbers import between, level_of, measure
from fairgear.report.sections.verdict import verdict


def audit_html(audit: Audit) -> str:
    """HTML of an audit.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.report import audit_html
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> "<table" in audit_html(audit)
        True
    """
    found = verdict(audit)
    said = f"{found.title}: {found.figure}." if found.figure else f"{found.title}."
    level = f"{level_of(audit.setup.level)} % interval"
    rows = [
        (EVERY_METRIC[key].label, measure(value), f"{level} {between(audit.intervals[key])}")
        if audit.intervals[key].defined
        else (EVERY_METRIC[key].label, measure(value), "")
        for key, value in audit.metrics.items()
    ]
    title = f"{audit.model.name} on {audit.setup.dataset}, {audit.setup.people:,} people"
    return as_table(title, rows, [said, found.accurate])
