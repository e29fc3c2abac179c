"""JUnit XML of an audit: a test case for each condition, as servers for builds show them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from fairgear.auditing import Audit, Condition
from fairgear.metrics import EVERY_METRIC
from fairgear.text import visible

# What XML 1.0 cannot hold and `visible` leaves as it is.
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(audit: Audit, conditions: Sequence[str]) -> str:
    """One test suite; a case fails where the condition holds, or its measure is undefined.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.report import junit_xml
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> "<failure" in junit_xml(audit, ["delta_cf > 0.05"])
        True
    """
    parsed = [Condition.parse(text) for text in conditions]
    failures = [condition.failure(audit.metrics, audit.intervals) for condition in parsed]
    seconds = 0.0 if audit.provenance is None else audit.provenance.seconds
    counts = {
        "tests": str(len(parsed)),
        "failures": str(sum(failure is not None for failure in failures)),
        "errors": "0",
        "time": f"{seconds:.3f}",
    }
    name = _text(f"{audit.model.name} on {audit.setup.dataset}")
    root = ET.Element("testsuites", {"name": "fairgear audit", **counts})
    stamp = {} if audit.provenance is None else {"timestamp": audit.provenance.finished[:19]}
    suite = ET.SubElement(root, "testsuite", {"name": name, **counts, "skipped": "0", **stamp})
    properties = ET.SubElement(suite, "properties")
    for key, value in _facts(audit).items():
        ET.SubElement(properties, "property", {"name": key, "value": _text(str(value))})
    for condition, failure in zip(parsed, failures, strict=True):
        _case(suite, audit, condition, failure)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _case(suite: ET.Element, audit: Audit, condition: Condition, failure: str | None) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": "fairgear.audit", "name": f"fail if {condition}", "time": "0"},
    )
    metric = EVERY_METRIC[condition.metric]
    said = [f"{condition.measured(audit.metrics, audit.intervals)}."]
    said += [f"{condition.metric} is {metric.label}; {metric.direction} is better."]
    said += audit.turning_points(str(condition))
    if failure is not None:
        kind = "undefined" if failure.startswith(f"{condition.subject} is undefined") else "bound"
        found = ET.SubElement(case, "failure", {"message": _text(failure), "type": kind})
        found.text = _text(failure)
    ET.SubElement(case, "system-out").text = _text("\n".join(said))


def _facts(audit: Audit) -> dict[str, object]:
    setup = audit.setup
    return {
        "model": audit.model.name,
        "dataset": setup.dataset,
        "people": setup.people,
        "causal model": setup.causal_model or "none",
        "draws": setup.draws,
        "seed": setup.seed,
        "level of intervals": f"{setup.level:g}",
        "graph": setup.graph,
        "worlds": setup.worlds,
    }


def _text(text: str) -> str:
    """Names of people's data may hold what XML cannot."""
    return _NOT_XML.sub("\ufffd", visible(text))
