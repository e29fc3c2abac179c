"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fairgear.testing import NotAlikeError

pytest_plugins = ["pytester"]

MODEL = """
import pytest, torch
import fairgear as fg
from fairgear.testing import assert_alike

def constant(graph):
    return torch.full((len(graph.x),), 0.7)

def copies(graph):
    return 0.1 + 0.8 * graph.sens.double()

@pytest.fixture
def graph():
    # Made again for each test.
    return fg.datasets.load("synthetic", n=100, threshold=0.3, a=0.05)
"""


@pytest.fixture
def tester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = --strict-markers")
    return pytester


def test_a_model_that_fails_leaves_its_figures_and_its_page(tester: pytest.Pytester) -> None:
    tester.makepyfile(
        MODEL
        + """
def test_constant(graph, fairgear_worlds):
    assert assert_alike(constant, fairgear_worlds(graph), delta_cf=0.05).metrics["delta_cf"] == 0

def test_copies(graph, fairgear_worlds):
    assert_alike(copies, fairgear_worlds(graph), delta_cf=0.05, accuracy=0)

def test_expected(graph, fairgear_worlds):
    with pytest.raises(AssertionError, match="copies breaks"):
        assert_alike(copies, fairgear_worlds(graph), delta_cf=0.05)

def test_one_worlds(graph, fairgear_worlds, request):
    assert fairgear_worlds(graph) is fairgear_worlds(graph)
    assert fairgear_worlds(graph, seed=1) is not fairgear_worlds(graph)

def test_no_audit(graph):
    assert len(graph.x) == 100
"""
    )
    pages = tester.path / "pages"
    found = tester.runpytest_subprocess("--fairgear-pages", str(pages), "--junitxml", "out.xml")
    found.assert_outcomes(passed=4, failed=1)
    (page,) = pages.iterdir()
    found.stdout.fnmatch_lines(
        [
            "*NotAlikeError: copies breaks 1 of 2 bounds on 20 people of synthetic.*",
            "*δCF (strict): 0.*% interval*; allowed at most 0.05: BROKEN (delta_cf)*",
            "*Accuracy: *; allowed at least 0: kept (accuracy)*",
            "*person * (group *): another answer in *",
            "*- fairgear -*",
            f"The page: {page}",
        ]
    )
    text = page.read_text(encoding="utf-8")
    assert page.name.startswith("test_copies-")
    assert "copies" in text
    # The page has what the bounds do not need.
    assert "gaussian" in text
    cases = ElementTree.parse(tester.path / "out.xml").getroot().iter("testcase")
    properties = {
        case.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
        for case in cases
    }
    assert 0.3 < float(properties["test_copies"]["delta_cf"]) < 0.7
    assert not properties["test_constant"]


def test_tests_with_worlds_can_be_left_out(tester: pytest.Pytester) -> None:
    tester.makepyfile(
        """
        import pytest

        def test_audit(fairgear_worlds):
            raise AssertionError

        @pytest.mark.fairgear
        def test_marked():
            raise AssertionError

        def test_other():
            pass
        """
    )
    found = tester.runpytest_inprocess("-m", "not fairgear")
    found.assert_outcomes(passed=1, deselected=2)
    marks = tester.runpytest_inprocess("--markers").stdout.str()
    assert "@pytest.mark.fairgear: audits a model" in marks


def test_without_a_folder_or_where_none_can_be_made(tester: pytest.Pytester) -> None:
    tester.makepyfile(
        """
        from types import SimpleNamespace
        from fairgear.files import write_text
        from fairgear.testing.alike import NotAlikeError

        class Broken(NotAlikeError):
            def save_html(self, path):
                write_text(path, "page")

        def test_a_b():
            raise Broken(SimpleNamespace(metrics={"delta_cf": 0.5}), "broken", {})

        def test_written():
            failure = Broken(SimpleNamespace(metrics={}), "broken", {})
            failure.page = "elsewhere.html"
            raise failure
        """
    )
    # In this process, which has loaded torch already: it cannot be loaded twice.
    assert NotAlikeError.__module__ in sys.modules
    found = tester.runpytest_inprocess("-q")
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(["The page: elsewhere.html"])
    (page,) = (tester.path / ".pytest_cache").rglob("*.html")
    assert page.read_text(encoding="utf-8") == "page"
    found.stdout.fnmatch_lines([f"The page: {page}"])
    assert page.name.startswith("test_a_b-")
    found = tester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    found.stdout.fnmatch_lines(["--fairgear-pages DIR writes a page."])
    # The test still fails for its own reason.
    blocked = tester.makefile(".txt", blocked="")
    found = tester.runpytest_inprocess("-q", "--fairgear-pages", str(blocked))
    found.assert_outcomes(failed=2)
    found.stdout.fnmatch_lines(["*Broken: broken", "The page could not be written: *"])


def test_pytest_starts_without_torch(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\ndef test_it(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.hasplugin('fairgear')\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'fairgear'}\n"
        "    assert ours == {'fairgear', 'fairgear.pytest_plugin'}\n"
        "    assert not {'torch', 'numpy', 'pandas'} & sys.modules.keys()\n"
    )
    # Plugins of others may import anything.
    ours = ["-p", "no:hypothesispytest", "-p", "no:xdist", "-p", "no:anyio"]
    command = [sys.executable, "-m", "pytest", "-q", *ours, "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
