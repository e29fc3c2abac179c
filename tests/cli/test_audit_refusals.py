"""`fairgear audit` where it ends in another exit status than 0."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.audits import COLUMNS, FILES, OWN, QUICK, audit, command, refused, results

pytestmark = pytest.mark.usefixtures("here")


def test_a_condition_that_holds_is_exit_status_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conditions = ["--fail-if", "delta_cf_self > 0.5", "--fail-if", "auroc.high < 0.3"]
    assert audit("typed_models:copies", *QUICK, *conditions, "--json", out=tmp_path) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out) == results(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == FILES
    said = [line for line in captured.err.splitlines() if line.startswith("fairgear: ")]
    (line,) = said
    assert line.startswith("fairgear: delta_cf_self is 1 (interval ")
    assert line.endswith("which is > 0.5.")
    passed = ["--fail-if", "delta_cf_self < 0.5", "--fail-if=delta_cf_neighbor>0.5"]
    assert audit("typed_models:copies", *QUICK, *passed, out=tmp_path) == 0


def test_what_was_not_measured_was_not_shown_to_be_all_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["typed_models:constant", *QUICK, "--fail-if", "r2 > 0.5"]
    assert audit(*typed, out=tmp_path) == 3
    assert "fairgear: r2 is undefined" in capsys.readouterr().err
    assert {entry.name for entry in tmp_path.iterdir()} == FILES


# What is typed, and what the line must say.
BAD: dict[str, tuple[list[str], str]] = {
    "no model": (["nowhere"], "MODEL: got 'nowhere'"),
    "no module": (["nowhere:f"], "No module named 'nowhere'"),
    "no function": (["typed_models:f"], "has no attribute 'f'"),
    "no model at all": (["typed_models:number"], "a model to audit: got a int"),
    "wrong length": (["typed_models:short"], "got scores of shape (1999,)"),
    "nan": (["typed_models:missing"], "NaN or infinite scores, the first of node"),
    "ends the process": (["typed_exit:f"], "model typed_exit:f: got SystemExit"),
    "raises": (["typed_models:raises"], "'factual-unchanged-draw-0': got RuntimeError: it broke;"),
    "raises later": (["typed_models:later"], "got RuntimeError: never seen;"),
    "logits": (["typed_models:logits"], "allowed: 0 to 1, unless a threshold is given"),
    "hangs": ([command("hangs"), "--timeout", "0.3"], "no end after 0.3 seconds"),
    "rubbish": ([command("rubbish")], "no file where {scores} is"),
    "rubbish on stdout": (
        [command("rubbish").removesuffix(" {scores}")],
        "got the line 'Loading the model ...'",
    ),
    "fails": ([command("fails")], "exit status 1: no weights"),
    "missing nodes": ([command("missing")], "got no score of"),
    "no program": (["/no/such/program {graph}"], "no such file or directory"),
    "graph format": ([command("scores"), "--graph-format", "xml"], "csv, parquet, npz"),
    "timeout": ([command("scores"), "--timeout", "0"], "timeout: got 0"),
    "against": (["typed_models:constant", "--against", "nowhere"], "MODEL: got 'nowhere'"),
    "against fails": (
        ["typed_models:constant", "--against", "typed_models:raises"],
        "'typed_models:raises' in the world",
    ),
    "condition": (["typed_models:constant", "--fail-if", "delta_cf"], "a condition: got"),
    "percentage": (["typed_models:constant", "--fail-if", "delta_cf > 5"], "write 5 % as 0.05"),
    "dataset": (["typed_models:constant", "synthetics"], "mean 'synthetic'"),
    "split": (["typed_models:constant", "--split", "half"], "sixty-twenty-twenty, released"),
    "nodes": (["typed_models:constant", "--nodes", "some"], "test, val, train, all, or a file"),
    "strange nodes": (["typed_models:constant", "--nodes", "strange.txt"], "the first '5000'"),
    "draws": (["typed_models:constant", "--draws", "0"], "setting draws"),
    "level": (["typed_models:constant", "--level", "95"], "setting level"),
    "self people": (["typed_models:constant", "--self-people", "-1"], "setting self_people"),
    "causal model": (["typed_models:constant", "--causal", "mine"], "causal model: got"),
    "no diagram": (["typed_models:constant", *OWN, "--causal", "no.yaml"], "diagram no.yaml: got"),
    "cycle": (
        ["typed_models:constant", *OWN, "--causal", "cycle.yaml"],
        "the cycle job -> income -> job",
    ),
    "strange column": (
        ["typed_models:constant", *OWN, "--causal", "strange.yaml"],
        "'wage'; allowed: the table's columns",
    ),
    "protocol": (["typed_models:constant", "--protocol", "loose"], "strict, released"),
    "threshold": (["typed_models:constant", "--threshold", "nan"], "threshold of"),
    "no number": (["typed_models:constant", "--threshold", "half"], "--threshold"),
    "unknown option": (["typed_models:constant", "--nosuch", "1"], "--nosuch"),
    "no edges": (["typed_models:constant", "people.csv", *COLUMNS], "neither edges nor"),
    "no label": (["typed_models:constant", "people.csv", *OWN[3:]], "--label: got none"),
    "columns": (["typed_models:constant", *COLUMNS], "--label: got the dataset 'synthetic'"),
}


@pytest.mark.parametrize(
    "case",
    BAD,
)
def test_bad_input_is_one_line_status_2_and_leaves_nothing(
    case: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("strange.txt").write_text("3\n5000\n")
    Path("cycle.yaml").write_text("job: [income, sex]\nincome: [job]\n")
    Path("strange.yaml").write_text("wage: [sex]\n")
    before = sorted(path.name for path in here.iterdir())
    typed, said = BAD[case]
    few = [] if "--draws" in typed or "--self-people" in typed else QUICK
    assert audit(*typed, *few, out="left") == 2
    refused(capsys, said)
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == [
        name for name in before if name != "__pycache__"
    ]


def test_other_peoples_folders_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    for out in (foreign, foreign / "thesis.txt", foreign / "thesis.txt" / "below"):
        assert audit("typed_models:constant", *QUICK, out=out) == 2
        refused(capsys, "folder" if out == foreign else "thesis.txt")
    assert [entry.name for entry in foreign.iterdir()] == ["thesis.txt"]
    assert (foreign / "thesis.txt").read_text() == "mine"
