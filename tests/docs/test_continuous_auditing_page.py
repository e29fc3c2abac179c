"""docs/guides/continuous-auditing.md: its code runs, its YAML is that of the build servers."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch
from xml.etree import ElementTree

import pytest
import yaml

from tests.docs.pages import ROOT, Block, run_blocks
from tests.packaging.steps import BIN, action, job

PAGE = ROOT / "docs" / "guides" / "continuous-auditing.md"


@pytest.fixture(scope="module")
def blocks(folder: Path) -> Iterator[list[Block]]:
    with patch.object(sys, "path", [str(folder), *sys.path]):
        yield run_blocks(PAGE, folder, {})
        sys.modules.pop("house", None)


# One test, so that no second process runs the page again.
def test_it_does_what_it_says(blocks: list[Block], folder: Path) -> None:
    assert [block.kind for block in blocks].count("console") == 2
    for block in blocks:
        assert block.as_shown(), block.printed
    cases = list(ElementTree.parse(folder / "tests.xml").iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None]
    assert (len(cases), len(failed)) == (2, 1)
    assert {"delta_cf", "accuracy"} <= {one.get("name") for one in failed[0].iter("property")}
    (page,) = (folder / "pages").iterdir()
    said = "".join(failed[0].itertext())
    assert "BROKEN (delta_cf)" in said
    assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert (folder / "fairness" / "report.html").exists()


def test_the_workflow_and_the_pipeline_are_valid(tmp_path: Path) -> None:
    workflow, pipeline = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    for schema, text in (("github-workflows", workflow), ("gitlab-ci", pipeline)):
        path = tmp_path / f"{schema}.yml"
        path.write_text(text)
        command = [str(BIN / "check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    given = yaml.safe_load(workflow)["jobs"]["audit"]["steps"][-1]["with"]
    assert set(given) <= set(action()["inputs"])
    needed = {name for name, one in action()["inputs"].items() if one.get("required")}
    assert needed <= set(given)
    assert set(yaml.safe_load(pipeline)["fairness"]["variables"]) <= set(job()["variables"])


def test_its_table_has_every_input() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("| input | is |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z-]+)` \|", table, flags=re.MULTILINE)) == set(
        action()["inputs"]
    )
