"""The examples of the gallery run, here with less data; `make docs` runs them as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fairgear.auditing import Audit
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "gallery"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
# What is trained on, trained for, and asked, in place of what a page shows.
LESS = (
    (r"\bn=\d+", "n=150"),
    (r"\bsteps=\d+", "steps=3"),
    (r'"steps": \d+', '"steps": 3'),
    (r"range\(80\)", "range(3)"),
    (r"self_people=\d+", "self_people=4"),
    (r"what_if_people=5", "what_if_people=1"),
    (r"RandomForestClassifier\(100", "RandomForestClassifier(5"),
    (r"max_iter=40", "max_iter=5"),
    (r"self_people=4\)", "self_people=4, affected_people=1, other_causal_models=False)"),
    (r"print\(audit.causal_models.verdict\)\n", ""),
)


def test_there_are_eight() -> None:
    assert len(EXAMPLES) == 8
    page = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"\((plot_\w+\.py)\)", page) == [path.name for path in EXAMPLES]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = path.read_text(encoding="utf-8")
    for pattern, less in LESS:
        code = re.sub(pattern, less, code)
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {}
    exec(compile(code, str(path), "exec"), names)
    audits = [one for one in names.values() if isinstance(one, Audit)]
    assert audits or any(isinstance(one, Audit) for one in names["audits"].values())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_pictures_and_words(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    cells = code.split("# %%\n")
    assert len(cells) >= 4
    lasts = [cell.rstrip().splitlines()[-1] for cell in cells]
    assert any(re.fullmatch(r"figure|.*\.plot\.\w+\(.*\)", last) for last in lasts)
