"""JUnit XML, read by another package."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml

from fairgear.auditing import Audit
from fairgear.report import junit_xml
from tests.auditing.models import Features, measure, small_graph


@pytest.fixture(scope="module")
def audit() -> Audit:
    return measure(Features(), small_graph(80), draws=1)


def test_one_case_for_each_condition(audit: Audit, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    conditions = ["delta_cf > 0.05", "accuracy < 0", "delta_cf_max.high > 0.2"]
    path.write_text(junit_xml(audit, conditions), encoding="utf-8")
    read = JUnitXml.fromfile(str(path))
    assert (read.tests, read.failures, read.errors) == (3, 2, 0)
    (suite,) = read
    assert (suite.name, suite.tests, suite.failures) == ("Features on synthetic", 3, 2)
    facts = {one.name: one.value for one in suite.properties()}
    assert facts["graph"] == audit.setup.graph
    assert facts["people"] == str(len(audit.people))
    met, kept, undefined = list(suite)
    assert [case.name for case in suite] == [f"fail if {text}" for text in conditions]
    (failure,) = met.result
    assert isinstance(failure, Failure)
    assert [failure.message] == audit.failures(conditions[0])
    assert failure.type == "bound"
    assert not kept.result
    assert kept.system_out.startswith(f"accuracy is {audit.metrics['accuracy']:.4g} (interval ")
    assert undefined.result[0].type == "undefined"
    # As our own counts, it counts what the cases say.
    totals = suite.tests, suite.failures
    suite.update_statistics()
    assert (suite.tests, suite.failures) == totals


def test_names_that_xml_cannot_hold(audit: Audit) -> None:
    named = replace(audit, model=replace(audit.model, name='<b> & "\x00\x1b[31m\ufffe\ud800'))
    read = JUnitXml.fromstring(junit_xml(named, ["f1 < 0"]).encode())
    (suite,) = read
    assert suite.name.startswith('<b> & "‹U+0000›‹U+001B›[31m')
