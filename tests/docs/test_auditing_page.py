"""docs/guides/audit.md: its code and commands run; tables and counts are those of the code."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Condition, Worlds, audit
from fairgear.causal import FEATURE_MODELS
from fairgear.cli.app import main
from fairgear.metrics import METRICS
from tests.docs.pages import ROOT, Block

PAGE = ROOT / "docs" / "guides" / "audit.md"
README = ROOT / "README.md"
# The figures of an audit are defined there.
CONCEPTS = ROOT / "docs" / "concepts"


def section(title: str, path: Path = PAGE) -> str:
    """The text below a heading, up to the next one of any depth."""
    page = path.read_text(encoding="utf-8")
    to_the_next = rf"^##+ {title}\n(.*?)(?=^## |^### |\Z)"
    (found,) = re.findall(to_the_next, page, flags=re.DOTALL | re.MULTILINE)
    return str(found)


def first_cells(text: str) -> list[str]:
    """The words in code marks in the first column of the tables of a text."""
    cells = re.findall(r"^\| (.*?) \|", text, flags=re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`(.+?)`", cell)]


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert [block.kind for block in blocks].count("console") == 3
    for block in blocks:
        assert block.as_shown(), block.printed


def test_all_seven_kinds_were_asked(blocks: list[Block], names: dict[str, Any]) -> None:
    of = ("gear", "gcn", "logistic", "income", "command", "folder", "scores")
    kinds = {names[f"of_{name}"].model.kind for name in of}
    assert len(kinds) == 7
    # The folder holds the scores that the command gave.
    by_command, by_folder = names["of_command"].people, names["of_folder"].people
    assert by_command["score"].equals(by_folder["score"])


def test_the_other_causal_models_are_those_of_the_table(
    blocks: list[Block], names: dict[str, Any]
) -> None:
    told = first_cells(section("The family of causal models", CONCEPTS / "metrics.md"))
    rows = [row.model for row in names["full"].causal_models.rows]
    assert {row.removesuffix(", links fixed") for row in rows} | {"shift"} <= set(told)
    assert set(told) <= {*rows, "shift", "shift, links fixed"}
    assert set(FEATURE_MODELS) <= set(told)


def test_the_files_and_fields_are_those_of_the_page(blocks: list[Block], folder: Path) -> None:
    text = section("What comes out")
    compared = folder / "compared"
    told = {name for name in first_cells(text) if "." in name and "_" not in name}
    assert {path.name for path in compared.iterdir()} == told | {"SHA256SUMS", "against"}
    assert Audit.load(compared).model.name == "mymodels:by_income"
    facts = json.loads((compared / "audit.json").read_text(encoding="utf-8"))
    for field in facts:
        assert f"`{field}`" in text
    for field in (*facts["model"], *facts["setup"]):
        assert field in text


def test_every_column_of_the_people_is_explained(
    blocks: list[Block], names: dict[str, Any]
) -> None:
    told = first_cells(section("What comes out"))
    for column in names["of_gear"].people.columns:
        pattern = re.sub(r"^(score|flip)_.*", r"\1_PROTOCOL_INTERVENTION", column)
        assert pattern in told


def test_the_options_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--help"]) == 0
    printed = capsys.readouterr().out
    options = first_cells(section("From the command line"))
    assert len(options) == 17
    for option in options:
        assert option in printed


def test_every_intervention_is_one_of_the_audit(blocks: list[Block], names: dict[str, Any]) -> None:
    told = first_cells(section("Interventions", CONCEPTS / "metrics.md"))
    asked = {row.intervention for row in names["of_gear"].flips}
    assert asked == {*told, "average over rates", "between worlds"}
    # All but that of the paper's evaluation.
    assert len(METRICS) - 1 == 14
    assert "the fourteen of an audit" in (CONCEPTS / "intervals.md").read_text(encoding="utf-8")


def test_the_conditions_can_be_read() -> None:
    for document in (PAGE, README):
        conditions = re.findall(r'--fail-if "([^"]*\d)"', document.read_text(encoding="utf-8"))
        assert conditions
        for text in conditions:
            assert str(Condition.parse(text)) == text


def test_the_lines_of_the_readme_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (lines,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    quick = lines.replace("seed=0", "n=120").replace("Gear()", "Gear(steps=2)")
    assert quick.count("120") == quick.count("steps=2") == 1
    monkeypatch.chdir(tmp_path)
    exec(quick, {})
    assert re.match(r"0\.\d+ 0\.\d+ Interval\(", capsys.readouterr().out)
    assert "gear" in (tmp_path / "audit.html").read_text(encoding="utf-8")


class Counting:
    """Says the same about everybody, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, graph: SensitiveGraph) -> Tensor:
        self.asked += 1
        return torch.full((graph.num_nodes or 0,), 0.7)


@pytest.mark.parametrize(("others", "asked"), [(False, 13), (True, 13 + 75)])
def test_a_model_is_asked_as_often_as_the_page_says(
    blocks: list[Block], names: dict[str, Any], others: bool, asked: int
) -> None:
    worlds: Worlds = names["worlds"]
    model = Counting()
    # Nobody's answer moves, so that no neighbours are asked about.
    audit(model, worlds, self_people=0, other_causal_models=others)
    assert model.asked == asked
    assert "scores 13 graphs, 75 more under other" in section("Time and memory")


def test_an_export_is_as_many_graphs_as_the_page_says(
    blocks: list[Block], names: dict[str, Any], folder: Path
) -> None:
    exported = json.loads((folder / "exported" / "key.json").read_text(encoding="utf-8"))
    assert len(exported["worlds"]) == 15 + 5
    others = sum(len(one.all_worlds()) for one in names["worlds"].family.members[1:])
    attribute_only = 5
    assert 15 - attribute_only + others == 65
    assert "An export is 65 graphs" in section("Time and memory")
