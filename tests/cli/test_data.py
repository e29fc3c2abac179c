"""`fairgear data`: every finding at once, the command that works, and the status of a run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.cli import main
from tests.cli.checkups import LISTED, RIGHT, examined, parsed, said, table
from tests.graph.people import FRIENDS, PEOPLE, network, nx, people, pyg_data


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (PEOPLE, FRIENDS):
        Path(path.name).write_bytes(path.read_bytes())


def test_a_file_in_order_has_nothing_to_say() -> None:
    found = examined(**RIGHT)
    assert found.accepted
    assert found.findings == ()
    assert found.command == (
        "fairgear run people.csv --label approved --sensitive sex --similarity 0.7"
    )
    kinds = {one.name: (one.role, one.read_as) for one in found.columns}
    assert kinds == {
        "id": ("id", "ids"),
        **dict.fromkeys(("age", "income", "debt"), ("feature", "numbers")),
        **dict.fromkeys(("job", "city"), ("feature", "categories")),
        "owner": ("feature", "true and false"),
        "sex": ("sensitive", "categories"),
        "approved": ("label", "categories"),
    }
    assert [(c.distinct, c.missing) for c in found.columns[:1]] == [(400, 0)]


DAYS = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d")
# A column that is added, what must be said about it, what it is read as.
COLUMNS: dict[str, tuple[Any, str, str]] = {
    "number": (range(5000, 5400), "everybody has a value of their own, such as '5000'", "numbers"),
    "tax_no": (range(3, 400_000, 1000), "[--drop tax_no, or --id tax_no if", "numbers"),
    "word": ([f"w{i}" for i in range(400)], "[--drop word, or --id word if it says who is", "ids"),
    "note": ([f"note no {i}" for i in range(400)], "free text, 400 different ones", "text"),
    "born": (DAYS, "", "dates"),
    "share": ([f"{i % 90} %" for i in range(400)], "", "percentages"),
    "pay": ([f"{i * 1000:,}" for i in range(400)], "", "numbers"),
    "same": (7, "everybody has the same value, '7' [--drop same]", "numbers"),
    "alike": ("x", "everybody has the same value, 'x' [--drop alike]", "categories"),
    "empty": ("", "no value at all [--drop empty]!", "nothing"),
    "infinite": (["inf", "1"] * 200, "200 values that are infinite", "numbers"),
    "sparse": (["", "", "1", "2"] * 100, "", "numbers"),
    "sparser": (["", "", "", "2"] * 100, "300 of 400 cells are empty [--drop sparser]", "numbers"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str) -> None:
    values, expected, kind = COLUMNS[name]
    table(**{name: values})
    found = examined(**RIGHT)
    assert expected in said(found, f"column '{name}'")
    assert (said(found, f"column '{name}'") == "") == (expected == "")
    assert next(one.read_as for one in found.columns if one.name == name) == kind
    assert found.command is not None


def test_amounts_are_no_ids() -> None:
    table(pay=np.arange(400) * 97 + 13, height=np.arange(400) + 0.5)
    assert examined(**RIGHT).findings == ()


def test_what_was_read_as_something_else_is_said() -> None:
    table(**{name: COLUMNS[name][0] for name in ("born", "share", "pay")})
    spoken = said(examined(**RIGHT), "reading")
    assert "dates are read as days since 1970: 'born'" in spoken
    assert "percentages are read as numbers: 'share'" in spoken
    assert "commas between thousands are left out: 'pay'" in spoken


@pytest.mark.parametrize("word", ["none", "n/a", "?", "null", "unknown"])
def test_words_for_unknown(word: str) -> None:
    table(job=[word, "cook", "nurse", "smith"] * 100)
    found = examined(**RIGHT)
    assert f"count as missing: job ('{word}' 100)" in said(found, "reading")
    keeps = f"--categorical job keeps '{word}' as levels" in said(found, "reading")
    assert keeps == (word in ("none", "unknown"))
    assert "job (100); 100 of 400 people have one" in said(found, "missing")


def test_copies_of_the_label_and_of_the_group() -> None:
    yes = people().approved == "yes"
    table(
        same=people().approved,
        other=np.where(yes, 3, 9),
        sex2=people().sex,
        alike=1,
        half=yes & (people().age > 40),
    )
    found = examined(**RIGHT)
    assert said(found, "'same'") == "identical to the label column 'approved' [--drop same]"
    assert said(found, "'other'") == "one-to-one with the label column 'approved' [--drop other]"
    assert said(found, "'sex2'") == "identical to the sensitive column 'sex' [--drop sex2]"
    assert said(found, "'half'") == ""
    assert said(found, "'alike'") == "everybody has the same value, '1' [--drop alike]"
    assert found.accepted


def test_missing_cells_and_what_to_do() -> None:
    table(age=[*people().age[:390], *[None] * 10], debt=[None] * 5 + [*people().debt[5:]])
    found = examined(**RIGHT)
    expected = "missing cells: age (10), debt (5); 15 of 400 people have one "
    expected += "[--missing impute, or --missing drop to leave these people out]!"
    assert said(found, "missing") == expected
    assert found.command is not None
    assert "--missing impute" in found.command
    for policy, done in (("impute", "they are filled"), ("drop", "left out with their people")):
        assert done in said(examined(**RIGHT, missing=policy), "missing")
    table(sex=["", *people().sex[1:]], age=["", *people().age[1:]])
    found = examined(**RIGHT)
    expected = "1 of 400 people have no value of 'sex'; they stay, with a guess [--unknown drop]"
    assert said(found, "groups") == expected
    assert found.inferred["groups"].endswith(" people; 1 people unknown")
    assert found.command is not None
    assert "--missing impute" in found.command
    found = examined(**RIGHT, unknown="drop")
    assert said(found, "groups") == "1 of 400 people have no value of 'sex'; they are left out []"
    table(approved=["", *people().approved[1:]])
    assert "1 people have no label" in said(examined(**RIGHT), "label")


def test_a_word_for_unknown_may_be_a_label() -> None:
    table(approved=["none", "granted"] * 200)
    found = examined(**RIGHT)
    assert "--categorical approved" in said(found, "label")
    assert found.command is not None


def test_ids_and_ends_of_edges() -> None:
    assert examined(**LISTED).findings == ()
    with Path("friends.csv").open("a") as file:
        file.write("P0001,P9999\n")
    found = examined(**LISTED)
    assert "1 of 1155 with an end that is nobody's id, the first 'P9999'" in said(found, "edges")
    assert found.command is None
    Path("friends.csv").write_bytes(FRIENDS.read_bytes())
    people().rename(columns={"id": "who"}).to_csv("people.csv", index=False)
    found = examined(**LISTED)
    assert "[--id who]!" in said(found, "edges")
    assert found.command is not None
    assert "--id who" in found.command
    assert "--drop who" not in found.command
    table(id=["P1"] * 400)
    found = examined(**RIGHT)
    assert "399 repeated ids, the first 'P1' [--drop id" in said(found, "ids")
    assert found.command is not None


def test_ends_that_are_row_numbers_by_accident() -> None:
    numbers = {name: 100 + row for row, name in enumerate(people().id)}
    people().assign(id=range(100, 500)).rename(columns={"id": "who"}).to_csv(
        "people.csv", index=False
    )
    few = pd.read_csv(FRIENDS).map(numbers.get)
    few[(few < 400).all(axis=1)].to_csv("friends.csv", index=False)
    found = examined(**LISTED)
    assert "row numbers from 0, and all of them are in 'who' too [--id who]" in said(found, "edges")
    assert "row numbers" not in said(examined(**LISTED, id="who"), "edges")


def test_people_without_links_and_hardly_any_link() -> None:
    Path("friends.csv").write_text("source,target\nP0000,P0001\nP0002,P0003\n")
    assert "396 of 400 people have no link" in said(examined(**LISTED), "edges")
    more = pd.concat([people()] * 3).assign(id=[f"P{i:04}" for i in range(1200)])
    more.to_csv("people.csv", index=False)
    expected = "1,200 people with 2 links: hardly a graph [check the list of edges]"
    assert said(examined(**LISTED), "edges") == expected


def test_groups_and_labels_of_few_people() -> None:
    table(sex=["x"] * 29 + ["y"] * 371, approved=["maybe", "no"] * 15 + ["no"] * 370)
    spoken = examined(**RIGHT)
    assert said(spoken, "groups") == (
        "29 people of the group 'x': rates will be uncertain [add people]"
    )
    assert "15 people of the label 'maybe'" in said(spoken, "labels")
    table(sex=["x"] * 30 + ["y"] * 370)
    assert said(examined(**RIGHT), "groups") == ""
    table(sex=["x"] * 29 + ["y"] * 28 + ["z"] * 343)
    assert said(examined(**RIGHT), "groups") == (
        "29 people of the group 'x', 28 people of the group 'y': rates will be uncertain "
        "[add people]"
    )


def test_what_is_not_given() -> None:
    found = examined()
    assert "columns with two values: 'owner', 'sex', 'approved'" in said(found, "--label")
    assert "columns with two values: 'owner', 'sex', 'approved'" in said(found, "--sensitive")
    assert "neither edges nor a similarity" in said(found, "edges")
    assert found.command is None
    found = examined(label="approved", sensitive="sex")
    assert found.command is not None
    assert found.command.endswith("--similarity 0.7 --standardize")
    assert examined(**LISTED, similarity=0.7).command is None


def test_everything_at_once() -> None:
    table(
        race=["White", "White", "Black", "Asian"] * 100,
        note=[f"note no {i}" for i in range(400)],
        gap=["", "1", "2", "3"] * 100,
        empty="",
        share=[f"{i % 90} %" for i in range(400)],
    )
    found = examined(label="approved", sensitive="age,sex", sensitive_kind=["age=categorical"])
    assert len([one for one in found.findings if one.refused]) == 5
    assert found.command is None
    found = examined(label="approved", sensitive="age")
    assert len([one for one in found.findings if one.refused]) == 4
    assert found.command is not None
    refused = [one.refused for one in found.findings]
    assert refused == sorted(refused, reverse=True)
    assert not refused[-1]


def test_other_files_than_text() -> None:
    people().to_parquet("p.parquet")
    nx.write_graphml(network(), "p.graphml")
    torch.save(pyg_data(), "p.pt")
    assert examined("p.parquet", **RIGHT).findings == ()
    assert examined("p.graphml", label="approved", sensitive="sex").findings == ()
    assert examined("p.pt", label="y", sensitive="sex").accepted
    found = examined("p.parquet", **RIGHT | {"label": "aproved", "sensitive": "sx"})
    assert said(found, "--label").endswith("[did you mean 'approved']!")
    assert said(found, "--sensitive").endswith("[did you mean 'sex']!")
    assert found.command is not None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", b""),
        ("p.csv", b"\x89PNG\r\n\0\0"),
        ("p.csv", b"sex,ok\n1\n"),
        ("p.csv", "sex\nma\xf1ana\n".encode("latin-1")),
        ("p.xlsx", b"PK"),
        ("p.parquet", b"PAR1"),
        ("p.pt", b"hello"),
        ("p.graphml", b"<a/>"),
        ("nobody.csv", None),
    ],
)
def test_files_that_cannot_be_read(
    name: str, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    assert main(["data", name, "--label", "ok", "--sensitive", "sex"]) == 2
    captured = capsys.readouterr()
    assert captured.err == ""
    assert name in captured.out
    assert captured.out.startswith("refused: ")


CELLS = st.sampled_from(
    [
        "",
        "1",
        "2",
        "a",
        "b",
        "1,5",
        "12 %",
        "?",
        "none",
        "2020-01-01",
        "inf",
        "1e400",
        "é",
        '"',
        "#",
    ]
) | st.text(max_size=5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=0, max_size=6),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(["a", "b", "a<1", "c", "a,c"]),
    st.booleans(),
)
def test_no_file_ends_in_a_traceback(
    rows: list[list[str]], delimiter: str, sensitive: str, similar: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        lines = [delimiter.join(["a", "b", "c"]), *(delimiter.join(row) for row in rows)]
        path.write_text("\n".join(lines), encoding="utf-8", errors="ignore")
        options: dict[str, Any] = {"label": "b", "sensitive": sensitive}
        options |= {"similarity": 0.5} if similar else {"edges": str(path)}
        if sensitive != "b":
            examined(str(path), **options)


def run(*typed: str) -> subprocess.CompletedProcess[str]:
    """A fresh process, that says at its end which heavy packages it has imported."""
    code = (
        "import sys\nfrom fairgear.cli import main\nstatus = main(sys.argv[1:])\n"
        "heavy = {'torch', 'pandas', 'pyarrow', 'numba'} & set(sys.modules)\n"
        "print(sorted(heavy), file=sys.stderr)\n"
        "sys.exit(status)"
    )
    return subprocess.run([sys.executable, "-c", code, *typed], capture_output=True, text=True)


@pytest.mark.parametrize("command", ["data", "run"])
def test_a_slip_in_a_name_is_said_before_torch_is_there(command: str) -> None:
    typed = ["people.csv", "--label", "aproved", "--sensitive", "sx", "--similarity", "0.7"]
    done = run(command, *typed)
    assert done.returncode == 2
    *lines, imported = done.stderr.splitlines()
    assert imported == "[]"
    assert "did you mean 'sex'" in lines[0]
    assert len(lines) == (2 if command == "data" else 1)
    if command == "data":
        assert "did you mean 'approved'" in lines[1]
        assert done.stdout == (
            "Try: fairgear data people.csv --label approved --sensitive sex --similarity 0.7\n"
        )


def test_slips_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["--label", "approvd", "--sensitive", "agee<40", "--id", "idd", "--drop", "jobs"]
    assert main(["data", "people.csv", *typed, "--categorical", "citi"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("did you mean") == 5
    assert captured.out == (
        "Try: fairgear data people.csv --label approved --sensitive 'age<40' --id id --drop job "
        "--categorical city\n"
    )
    typed = ["--label", "approved", "--sensitive", "jb, sex,ctiy"]
    assert main(["data", "people.csv", *typed]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("did you mean") == 2
    assert captured.out == (
        "Try: fairgear data people.csv --label approved --sensitive job,sex,city\n"
    )
    assert main(["data", "people.csv", "--label", "xyzzy", "--sensitive", "sex", "--json"]) == 2
    held = json.loads(capsys.readouterr().out)
    assert (held["accepted"], held["next"]) == (False, None)
    assert "'xyzzy'" in held["findings"][0]["said"]


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    right = ["--label", "approved", "--sensitive", "sex"]
    assert main(["data", "people.csv", *right, "--similarity", "0.7"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1].startswith("Accepted: fairgear run people.csv --label")
    assert (
        "\nlabel: two classes, 'yes' counts as 1, 'no' as 0.\ngroups: 2: 'female' " in captured.out
    )
    table(note=[f"note no {i}" for i in range(400)])
    assert main(["data", "people.csv", *right, "--json"]) == 2
    captured = capsys.readouterr()
    held = json.loads(captured.out)
    assert captured.err == ""
    assert held["accepted"] is False
    assert held["people"] == 400
    assert held["inferred"]["label"] == "two classes, 'yes' counts as 1, 'no' as 0"
    assert held["command"].endswith("--similarity 0.7 --standardize --drop-text")
    assert {
        "name": "note",
        "role": "feature",
        "read_as": "text",
        "distinct": 400,
        "missing": 0,
    } in (held["columns"])
    fixes = {one["about"]: one["fix"] for one in held["findings"]}
    assert fixes["column 'note'"] == "--drop-text"
    assert main(["data", "people.csv", *right]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"This works: {held['command']}"
    assert any(line.startswith("refused: column 'note': free text") for line in lines)
    assert main(["data", "synthetic", *right]) == 2
    assert "FILE: got 'synthetic', which is no file" in capsys.readouterr().err


def test_nothing_is_written() -> None:
    before = sorted(path.name for path in Path().iterdir())
    examined(**RIGHT)
    assert sorted(path.name for path in Path().iterdir()) == before


def test_audit_has_a_flag_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    main(["audit", "--help"])
    shown = capsys.readouterr().out
    assert "--sensitive-against" in shown
    assert "Another model to compare it with" in shown
    for flag in ("--against", "--sensitive-against"):
        assert parsed(["--sensitive", "job", flag, "clerk"])["against"] == "clerk"
