"""Registries: own names, those of other packages, MODULE:NAME, and how failures are said."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairgear as fg
from fairgear.causal import CAUSAL_MODELS
from fairgear.cli import main
from fairgear.errors import ParameterError, UnknownNameError
from fairgear.methods import METHODS
from fairgear.registry import Registry
from fairgear.testing import toy_graph

METADATA = "Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n"
ENTRY_POINTS = """
[fairgear.methods]
plugged = plugged_code:Plugged
gear = plugged_code:Plugged
broken = plugged_broken:Plugged
gone = plugged_code:Gone
other = plugged_code:number

[fairgear.causal_models]
still = plugged_code:Still
"""
CODE = '''
from fairgear.causal import CausalModel, as_assignment
from fairgear.methods import METHODS

number = 3


class Plugged(METHODS["logistic"]):
    """A method of another package."""

    name = "plugged"


class Still(CausalModel):
    """Nothing but the attribute changes."""

    name = "still"

    def _fit(self, graph):
        return None

    def counterfactual(self, graph, sens, *, seed=0):
        sens = as_assignment(graph, sens)
        x = graph.x.clone()
        x[:, graph.sens_column] = sens.to(x.dtype)
        return graph.replace(x=x, sens=sens)
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package: two modules, one of which cannot be imported."""
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "plugged_code.py").write_text(CODE)
    (tmp_path / "plugged_broken.py").write_text("raise RuntimeError('no licence\\nfound')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for module in ("plugged_code", "plugged_broken"):
        sys.modules.pop(module, None)


def test_a_name_is_taken_once_and_the_nearest_is_suggested() -> None:
    known: Registry[int] = Registry("number")
    assert known.add("one", 1) == 1
    with pytest.raises(ValueError, match="registered already"):
        known.add("one", 2)
    with pytest.raises(UnknownNameError, match=r"'on'; allowed: one\. Next: did you mean 'one'"):
        known["on"]
    with pytest.raises(UnknownNameError, match="choose a number from the list"):
        known["module:name"]
    assert (list(known), len(known), known.items()) == (["one"], 1, [("one", 1)])


def test_methods_of_other_packages_are_found_by_name(package: Path, tmp_path: Path) -> None:
    assert "plugged" in METHODS
    # To know the names imports nothing.
    assert "plugged" in list(METHODS)
    assert "plugged_code" not in sys.modules
    method = METHODS["plugged"]
    assert method.__module__ == "plugged_code"
    assert METHODS["gear"] is fg.Gear
    method().fit(toy_graph()).save(tmp_path / "saved")
    assert type(fg.load_model(tmp_path / "saved")) is method


def test_causal_models_of_other_packages_are_found_by_name(package: Path, tmp_path: Path) -> None:
    model = fg.causal.named("still", toy_graph())
    assert type(model) is CAUSAL_MODELS["still"]
    assert type(fg.causal.named("plugged_code:Still", toy_graph())) is type(model)
    model.save(tmp_path / "still.safetensors")
    assert type(fg.causal.CausalModel.load(tmp_path / "still.safetensors")) is type(model)


@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("broken", r"got RuntimeError: no licence; allowed: a package that can be imported"),
        ("gone", r"got AttributeError: [^\n]*'Gone'"),
        ("other", r"got 3; allowed: a subclass of Method"),
    ],
)
def test_a_plugin_that_fails_says_so_when_it_is_used(package: Path, name: str, got: str) -> None:
    assert "broken" in METHODS
    with pytest.raises(ParameterError) as caught:
        METHODS[name]
    line = str(caught.value)
    assert line.startswith(f"method '{name}' of the package plugged: got ")
    assert "\n" not in line
    with pytest.raises(ParameterError, match=got):
        METHODS[name]


def test_a_plugin_that_fails_is_listed_among_the_others(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["methods", "list", "--json"]) == 0
    printed = capsys.readouterr().out
    assert "A method of another package." in printed
    assert "cannot be used: method 'broken' of the package plugged: got RuntimeError" in printed
    assert main(["methods", "show", "plugged"]) == 0
    assert main(["methods", "show", "broken"]) == 2
    assert "no licence" in capsys.readouterr().err


def test_a_class_is_found_by_module_and_name(package: Path) -> None:
    assert METHODS.resolve("plugged_code:Plugged") is METHODS["plugged"]
    assert CAUSAL_MODELS.resolve("plugged_code:Still") is CAUSAL_MODELS["still"]
    for text, got in {
        "plugged_code:number": "a subclass of Method",
        "plugged_code:Still": "a subclass of Method",
        "plugged_code:nothing": "AttributeError",
        "plugged_nowhere:nothing": "ModuleNotFoundError",
    }.items():
        with pytest.raises(ParameterError, match=f"method {text}: got .*{got}"):
            METHODS.resolve(text)


def test_a_name_that_nobody_typed_imports_nothing(package: Path) -> None:
    for known in (METHODS, CAUSAL_MODELS):
        with pytest.raises(UnknownNameError):
            known["plugged_code:Plugged"]
    assert "plugged_code" not in sys.modules


def test_a_run_takes_a_class_by_module_and_name(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    typed = ["run", "synthetic", "--method", "plugged_code:Plugged", "--out", str(out)]
    assert main([*typed, "--quick"]) == 0
    assert (out / "audit.json").exists()


def test_names_are_listed_in_the_order_that_was_said_whichever_came_first() -> None:
    numbers: Registry[int] = Registry("number", order=("one", "two", "three"))
    for name, value in (("other", 9), ("three", 3), ("one", 1)):
        numbers.add(name, value)
    assert list(numbers) == ["one", "three", "other"]
    assert numbers.items() == [("one", 1), ("three", 3), ("other", 9)]
