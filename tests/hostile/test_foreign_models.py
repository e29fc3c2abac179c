"""A saved model that somebody sent names code: it runs where the user names it, and only then."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairgear.causal import CausalModel, FittedCausalModel
from fairgear.cli import main
from fairgear.errors import FairgearError, FileError
from fairgear.methods import METHODS, load_model
from fairgear.methods.saved import read_saved, write_saved
from fairgear.tensor_files import read_tensors, write_tensors
from tests.graphs import random_graph

# Importing it leaves a trace.
CODE = """
from pathlib import Path
Path("executed").touch()
from fairgear.methods.baselines.tabular import Logistic
class Planted(Logistic):
    name = "planted"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder with code in it, and a model that names it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "planted_code.py").write_text(CODE)
    METHODS["logistic"](device="cpu").fit(random_graph()).save("model")
    yield tmp_path
    sys.modules.pop("planted_code", None)


def name_it(method: str) -> None:
    held = read_saved(Path("model"))
    write_saved(held.folder, held.about | {"method": method}, held.tensors, held.facts)


@pytest.mark.parametrize("method", ["planted_code:Planted", "planted", "os:system"])
def test_what_a_model_names_is_not_imported(
    here: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name_it(method)
    with pytest.raises(FileError, match="which is not registered") as caught:
        load_model("model")
    assert "\n" not in str(caught.value)
    assert main(["audit", "model", "synthetic", "--out", "audited"]) == 2
    assert main(["embed", "model", "synthetic", "--out", "z.npy"]) == 2
    assert "--method MODULE:CLASS" in capsys.readouterr().err
    assert not Path("executed").exists()


def test_the_user_may_name_it(here: Path) -> None:
    name_it("planted")
    graph = random_graph()
    expected = METHODS["logistic"](device="cpu").fit(graph).predict_proba(graph)
    model = load_model("model", method="planted_code:Planted")
    assert type(model).__name__ == "Planted"
    assert (model.predict_proba(graph) == expected).all()
    assert Path("executed").exists()
    assert type(load_model("model", method=type(model))) is type(model)
    # A model of another method is loaded as what it is.
    name_it("logistic")
    assert type(load_model("model", method=type(model))) is METHODS["logistic"]


def test_the_command_line_takes_it(here: Path) -> None:
    METHODS.resolve("planted_code:Planted")
    out = Path("out")
    typed = ["run", "synthetic", "--method", "planted_code:Planted", "--quick", "--out", str(out)]
    assert main(typed) == 0
    audit = [
        "audit",
        str(out),
        "--self-people",
        "5",
        "--what-if-people",
        "1",
        "--no-other-causal-models",
    ]
    assert main([*audit, "--out", "audited"]) == 2
    assert main([*audit, "--method", "planted_code:Planted", "--out", "audited"]) == 0
    files = json.loads(Path("audited/audit.json").read_text())["provenance"]["files"]
    assert {"model code", "model"} <= {file["role"] for file in files}
    embed = ["embed", str(out / "model"), "synthetic", "--method", "planted_code:Planted"]
    assert main([*embed, "--out", "z.npy"]) == 0


def test_causal_models_neither(here: Path) -> None:
    FittedCausalModel("shift", "fixed").fit(random_graph()).save("causal.safetensors")
    tensors, facts = read_tensors(Path("causal.safetensors"))
    write_tensors(
        Path("causal.safetensors"), tensors, facts | {"causal_model": "planted_code:Planted"}
    )
    with pytest.raises(FairgearError, match=r"^unknown causal model[^\n]*$"):
        CausalModel.load("causal.safetensors")
    assert not Path("executed").exists()
