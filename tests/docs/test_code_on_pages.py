"""Code on every page: run here or by the page's own test, or marked, and then parsed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any
from unittest.mock import patch

import pytest
from cyclopts import CycloptsError

from fairgear.datasets import DATASETS
from tests.docs.pages import ROOT, blocks_of, run_blocks
from tests.docs.parsing import PLAIN, commands, parse, parse_command

DOCS = ROOT / "docs"
# Generated from the program, by `make docs`.
MADE = {DOCS / "reference" / "command-line.md", DOCS / "reference" / "settings.md"}
OTHERS = ("_build", "examples", "api")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for page in sorted(DOCS.rglob("*.md"))
        if page not in MADE and not set(OTHERS) & set(page.relative_to(DOCS).parts)
    ),
]
# Pages whose code a test of their own runs, which then looks at what it did.
ELSEWHERE = {
    "README.md": "docs/test_auditing_page.py",
    "docs/concepts/causal-models.md": "docs/test_causal_models_page.py",
    "docs/development/your-own-causal-model.md": "docs/test_causal_models_page.py",
    "docs/development/your-own-method.md": "docs/test_own_method.py",
    "docs/guides/audit.md": "docs/test_auditing_page.py",
    "docs/guides/continuous-auditing.md": "docs/test_continuous_auditing_page.py",
    "docs/guides/experiment-tracking.md": "docs/test_experiment_tracking_page.py",
    "docs/guides/groups.md": "docs/test_groups_page.py",
    "docs/guides/large-graphs.md": "docs/test_large_graphs_page.py",
    "docs/guides/links.md": "docs/test_links_guide.py",
    "docs/guides/scores.md": "docs/test_scores_page.py",
    "docs/guides/which-causal-model.md": "docs/test_which_causal_model.py",
    "docs/start/tutorial.md": "docs/test_tutorial.py",
    "docs/reference/methods/c-enc.md": "methods/baselines/test_cenc.py",
    "docs/reference/methods/fairgnn.md": "methods/baselines/test_fairgnn.py",
    "docs/reference/methods/floors.md": "methods/baselines/test_tabular.py",
    "docs/reference/methods/gnn.md": "methods/baselines/test_whole_graph.py",
    "docs/reference/methods/nifty.md": "methods/baselines/test_nifty.py",
}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def to_run(page: Path) -> bool:
    return any(block["mark"] != "not run" for block in blocks_of(page))


HERE = [page for page in PAGES if to_run(page) and name(page) not in ELSEWHERE]


@pytest.mark.parametrize("page", HERE, ids=name)
def test_code_runs_and_prints_what_stands_below_it(page: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    registered = patch.dict(DATASETS._entries)
    before = set(sys.modules)
    with registered, patch.object(sys, "path", [str(tmp_path), *sys.path]):
        blocks = run_blocks(page, tmp_path, names)
    # Modules that a page writes are not those of another page.
    for module in set(sys.modules) - before:
        if (tmp_path / f"{module}.py").exists():
            del sys.modules[module]
    assert blocks
    for block in blocks:
        # A block without an output may print: what it prints depends on the machine.
        if block.shown:
            assert block.as_shown(), block.printed


@pytest.mark.parametrize("page", ELSEWHERE)
def test_its_own_test_runs_a_page(page: str) -> None:
    text = (ROOT / "tests" / ELSEWHERE[page]).read_text(encoding="utf-8")
    assert to_run(ROOT / page)
    assert Path(page).name in text
    assert re.search(r"\bexec\(|run_blocks\(|blocks: list\[Block\]", text)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_parses(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # A page may speak of marks.
    marks = re.findall(
        r"<!-- (?:not )?run\b(?:: [^\n]{3,} -->\n[ ]*```)?", re.sub(r"`<.*?>`", "", text)
    )
    assert all(mark.endswith("```") for mark in marks), (
        "a mark says why, on one line, above a block"
    )
    for kind, code in re.findall(r"^```(\S+)[^\n]*\n(.*?)^```", text, flags=re.M | re.S):
        if kind not in PLAIN:
            parse(kind, code)


COMMAND = r"(?:\$ )?(?:\.venv/bin/|fairgear [a-z]+ |torchrun |make [a-z]+$|pip install)"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_stand_in_blocks_of_the_console(page: Path) -> None:
    """Where they would be parsed."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(rf"^    {COMMAND}.*", text, flags=re.MULTILINE) == []
    for kind, code in blocks_with_outputs(page):
        assert re.findall(rf"^{COMMAND}.*", code, flags=re.MULTILINE) == [], kind


def blocks_with_outputs(page: Path) -> list[tuple[str, str]]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(text)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "line",
    [
        "fairgear run people.csv --labels approved",
        "fairgear rum people.csv",
        "torchrun --nproc-per-node 2 -m fairgear run --no-such-flag",
        ".venv/bin/python -m benchmarks.no_such_thing",
        "make no-such-target",
        "pip install 'fairgear[no-such-extra]'",
        "cd there && fairgear audit model --fail-iff x",
        "fairgear audit 'unfinished",
    ],
)
def test_what_does_not_exist_is_noticed(line: str) -> None:
    with pytest.raises((CycloptsError, AssertionError, CalledProcessError)):
        parse_command(line)


@pytest.mark.parametrize(
    "line",
    [
        "fairgear run people.csv --label approved --sensitive sex  # a comment",
        "fairgear audit runs/bail … --causal diagram.yaml | head",
        "FAIRGEAR_DATA=FOLDER .venv/bin/python -m benchmarks.fitted_models",
        'make bench ARGS="--quick"',
        "pip install '.[networkx]'",
        "fairgear datasets fetch bail && fairgear run bail",
    ],
)
def test_what_exists_is_taken(line: str) -> None:
    parse_command(line)


def test_the_command_of_a_job_is_found() -> None:
    job = "- name: Audit\n  run: >\n    fairgear audit model\n    --no-such-flag\n- uses: other\n"
    assert list(commands("yaml", job)) == ["fairgear audit model --no-such-flag"]
    with pytest.raises(CycloptsError):
        parse("yaml", job)
