"""Every public class and function has an example in its docstring, which prints what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

PACKAGES = (
    "auditing",
    "causal",
    "datasets",
    "egos",
    "graph",
    "links",
    "methods",
    "metrics",
    "nn",
    "pyg",
    "report",
    "sklearn",
    "testing",
    "tracking",
    "training",
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def _public() -> dict[str, Any]:
    """Each public class or function by its name; registries and numbers have no docstring."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(f"fairgear.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                found[f"{package}.{name}"] = value
    return found


PUBLIC = _public()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example_that_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples, f"{name} has no example: add an `Example:` section to its docstring"
    # What an example writes goes to a folder of its own, and what it sets ends with it.
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    with patch.dict(os.environ):
        outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not outcome.failed, "".join(said)


def test_an_example_that_is_wrong_is_found() -> None:
    test = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, None)
    said: list[str] = []
    assert doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append).failed
    assert "Expected:" in "".join(said)
