"""`fairgear audit --junit`: what it writes, and what it refuses before any work is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from junitparser import JUnitXml

from tests.cli.audits import QUICK, audit, refused, results

pytestmark = pytest.mark.usefixtures("here")
MET = ["--fail-if", "delta_dp > 0.1", "--fail-if", "accuracy < 0"]


def test_a_case_for_each_condition_and_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, junit = tmp_path / "audit", tmp_path / "new" / "audit.xml"
    typed = ["typed_models:copies", *QUICK, *MET, "--junit", str(junit)]
    assert audit(*typed, out=out) == 3
    (suite,) = JUnitXml.fromfile(str(junit))
    assert (suite.tests, suite.failures) == (2, 1)
    assert suite.time == pytest.approx(
        sum(stage["seconds"] for stage in results(out)["provenance"]["stages"]), abs=1e-3
    )
    met, kept = list(suite)
    assert f"fairgear: {met.result[0].message}" in capsys.readouterr().err.splitlines()
    assert not kept.result
    # Without conditions that hold, the status is 0 and every case passes.
    assert audit("typed_models:constant", *QUICK, *MET, "--junit", str(junit), out=out) == 0
    assert JUnitXml.fromfile(str(junit)).failures == 0
    # Where there is no audit, no earlier verdict is left.
    assert audit("typed_models:raises", *QUICK, *MET, "--junit", str(junit), out=out) == 2
    assert not junit.exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--junit", "a.xml"], "--junit: got it alone"),
        ([*MET, "--junit", "people.csv"], "allowed: a file that ends in .xml"),
        ([*MET, "--junit", "out/a.xml"], "Next: write it to out.xml"),
        ([*MET, "--junit", "folder.xml"], "cannot write folder.xml: got a folder"),
    ],
)
def test_refused(
    here: Path, typed: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "folder.xml").mkdir(exist_ok=True)
    people = (here / "people.csv").read_bytes()
    assert audit("typed_models:copies", *QUICK, *typed, out="out") == 2
    refused(capsys, said)
    assert (here / "people.csv").read_bytes() == people
    assert not (here / "out").exists()
