"""What the site is made with: the reference is whole, and no page asks another host."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import fairgear
from fairgear.methods import METHODS
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"


@pytest.fixture(scope="module", autouse=True)
def _path() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield
    for name in [one for one in sys.modules if one.split(".")[0] == "site_tools"]:
        del sys.modules[name]


def exported() -> dict[str, list[str]]:
    """Every package with an `__all__`, found by walking the files."""
    found = {"fairgear": list(fairgear.__all__)}
    for one in pkgutil.walk_packages(fairgear.__path__, "fairgear."):
        module = importlib.import_module(one.name) if one.ispkg else None
        if module is not None and hasattr(module, "__all__"):
            found[one.name] = list(module.__all__)
    return found


def test_every_public_name_is_in_the_reference(tmp_path: Path) -> None:
    api = importlib.import_module("site_tools.api")
    api.write(tmp_path)
    described: list[str] = []
    for package, names in exported().items():
        page = (tmp_path / f"{package}.rst").read_text(encoding="utf-8")
        here = re.findall(r"^\.\. auto\w+:: (\S+)$", page, flags=re.MULTILINE)
        constants = re.findall(r"^\.\. py:data:: (\w+)\n   :module: (\S+)$", page, re.MULTILINE)
        here += [f"{module}.{name}" for name, module in constants]
        described += here
        linked = dict(re.findall(r":py:obj:`(\w+) <(\S+)>`", page))
        modules = {name.rpartition(".")[2] for name in re.findall(r":doc:`(\S+)`", page)}
        told = {name.rpartition(".")[2] for name in here} | linked.keys() | modules
        assert told == set(names), package
    # Each thing in one place.
    assert len(described) == len(set(described))
    for target in re.findall(r"<(fairgear\.\S+)>`", (tmp_path / "fairgear.rst").read_text("utf-8")):
        assert target in described


def test_a_class_has_the_methods_of_its_bases(tmp_path: Path) -> None:
    api = importlib.import_module("site_tools.api")
    api.write(tmp_path)
    text = (tmp_path / "fairgear.methods.rst").read_text(encoding="utf-8")
    members = text.partition(".. autoclass:: fairgear.methods.Gear\n")[2].splitlines()[0]
    for name in ("fit", "predict_proba", "embed", "save"):
        assert re.search(rf"\b{name}\b", members)


def test_settings_and_commands_are_those_of_the_program() -> None:
    program = importlib.import_module("site_tools.program")
    settings = program.settings()
    assert re.findall(r"^## (.*)$", settings, flags=re.MULTILINE) == list(METHODS)
    assert "| `fairness_weight` | `5.0` |" in settings
    commands = program.commands()
    for words in ("fairgear run", "fairgear judge search", "fairgear audit verify"):
        assert f"{words}\n" in commands
    assert "--fail-if" in commands


@pytest.mark.parametrize(
    ("page", "asked"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', True),
        ('<img src="//example.org/x.png">', True),
        ('<img srcset="x.png 1x, https://example.org/x.png 2x">', True),
        ('<link rel="stylesheet" href="https://example.org/x.css">', True),
        ("<style>@import url(https://example.org/x.css);</style>", True),
        ('<p style="background: url(https://example.org/x.png)">x</p>', True),
        ('<iframe src="https://example.org"></iframe>', True),
        ('<a href="https://example.org">a link</a>', False),
        ('<link rel="canonical" href="https://example.org/here">', False),
        ('<script src="_static/x.js"></script><p>https://example.org</p>', False),
        ('<img src="data:image/png;base64,AAAA//AA">', False),
    ],
)
def test_a_page_that_asks_another_host_is_noticed(tmp_path: Path, page: str, asked: bool) -> None:
    pytest.importorskip("sphinx")
    offline = importlib.import_module("site_tools.offline")
    (tmp_path / "page.html").write_text(f"<html><body>{page}</body></html>", encoding="utf-8")
    assert bool(list(offline.fetched(tmp_path))) is asked


def test_a_style_that_asks_another_host_is_noticed(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    offline = importlib.import_module("site_tools.offline")
    (tmp_path / "a.css").write_text("@font-face {src: url('https://fonts.example.org/a.woff')}")
    (tmp_path / "b.css").write_text("a {background: url(b.png)}")
    assert [path.name for path, _ in offline.fetched(tmp_path)] == ["a.css"]


def test_the_site_that_was_built_asks_nobody() -> None:
    pytest.importorskip("sphinx")
    built = DOCS / "_build" / "html"
    if not (built / "index.html").exists():
        pytest.skip("`make docs` has not been run")
    offline = importlib.import_module("site_tools.offline")
    assert list(offline.fetched(built)) == []
    assert (built / "searchindex.js").stat().st_size > 10_000
