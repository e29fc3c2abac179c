"""`fairgear data` on groups, labels and edges of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.cli.checkups import LISTED, RIGHT, examined, said, table
from tests.graph.people import FRIENDS, PEOPLE, people


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (PEOPLE, FRIENDS):
        Path(path.name).write_bytes(path.read_bytes())


RACES = ["White", "White", "Black", "Asian"] * 100


def test_groups_and_labels_of_several_values() -> None:
    table(race=RACES, verdict=["a", "b", "c", "a"] * 100)
    found = examined(**RIGHT | {"sensitive": "race", "label": "verdict"})
    assert found.accepted
    assert found.findings == ()
    assert found.inferred["groups"] == (
        "3: 'Asian' 100 people, 'Black' 100 people, 'White' 200 people"
    )
    assert found.inferred["label"] == "3 classes, 'a', 'b', 'c'"
    assert examined(**RIGHT | {"sensitive": "race", "against": "Black"}).accepted
    assert examined(**RIGHT | {"sensitive": "age<=40"}).accepted


def test_columns_that_make_no_groups() -> None:
    table(race=RACES, one="x")
    found = examined(**RIGHT | {"sensitive": "one"})
    assert said(found, "sensitive").endswith(
        "[name a column with several groups with --sensitive]!"
    )
    assert found.command is None
    for options in (
        {"sensitive": "race", "against": "Whyte"},
        {"sensitive": "job<3"},
        {"sensitive": "race", "sensitive_one": "White"},
    ):
        found = examined(**RIGHT | options)
        assert said(found, "sensitive").endswith("!")
        assert found.command is None


def test_more_groups_than_allowed() -> None:
    table(many=[f"level {number % 61}" for number in range(400)])
    found = examined(**RIGHT | {"sensitive": "many"})
    assert "61 values" in said(found, "sensitive")
    assert said(found, "sensitive").endswith("[--against 'level 0']!")
    assert found.command is not None


def test_several_sensitive_columns() -> None:
    table(race=RACES, race2=[race.lower() for race in RACES])
    found = examined(**RIGHT | {"sensitive": "race,sex"})
    assert found.accepted
    assert {one.name for one in found.columns if one.role == "sensitive"} == {"race", "sex"}
    assert said(found, "race2") == "one-to-one with the sensitive column 'race' [--drop race2]"
    counts = pd.Series(RACES).str.cat(people().sex, sep=", ").value_counts()
    shown = ", ".join(f"{name!r} {counts[name]} people" for name in sorted(counts.index))
    assert found.inferred["groups"] == f"6: {shown}"
    for sensitive in ("race,sex,city,job", "race,race"):
        found = examined(**RIGHT | {"sensitive": sensitive})
        assert said(found, "sensitive").endswith("!")
        assert found.command is None
    codes = {"sensitive": "age,sex", "sensitive_kind": ["age=categorical"]}
    assert "[name fewer columns]!" in said(examined(**RIGHT | codes), "sensitive")
    found = examined(**RIGHT | {"sensitive": "age,sex"})
    assert "of which 'age' is a number" in said(found, "sensitive")
    assert "audit each by itself" in said(found, "sensitive")
    assert not examined(**RIGHT | {"sensitive": "race,sex", "against": "White"}).accepted
    assert not examined(**RIGHT | {"sensitive": "race,sex", "label": "sex"}).accepted
    table(race=["", *RACES[1:]], sex=[*people().sex[:-1], ""])
    found = examined(**RIGHT | {"sensitive": "race,sex"})
    assert "no value of 'race'" in said(found, "groups")
    assert "no value of 'sex'" in said(found, "groups")
    assert found.inferred["groups"].endswith("; 2 people unknown")
    assert found.accepted


def test_numbers(tmp_path: Path) -> None:
    middle = int(people().age.median())
    found = examined(**RIGHT | {"sensitive": "age"})
    assert found.accepted
    assert found.inferred["groups"] == (
        f"none: 'age' is a number from 21 to 65; --sensitive \"age<{middle}\" makes two"
    )
    table(age=[*people().age[:300], *[""] * 100], code=[f"0{i % 20}" for i in range(400)])
    found = examined(**RIGHT | {"sensitive": "age", "drop": ["code"]})
    assert found.accepted
    assert found.inferred["groups"].endswith(" makes two; 100 people unknown")
    assert said(found, "groups").endswith("they stay, with a guess [--unknown drop]")
    # Twelve numbers are groups, unless it is said.
    table(twelve=np.arange(400) % 12)
    found = examined(**RIGHT | {"sensitive": "twelve"})
    assert found.inferred["groups"].startswith("12: '0' 34 people, ")
    found = examined(**RIGHT | {"sensitive": "twelve", "sensitive_kind": ["twelve=continuous"]})
    assert found.inferred["groups"].startswith("none: 'twelve' is a number from 0 to 11;")
    assert found.command is not None
    assert "--sensitive-kind twelve=continuous" in found.command
    # Numbers that are text may be either.
    people().assign(code=[f"0{i % 20}" for i in range(400)]).to_parquet("people.parquet")
    found = examined("people.parquet", **RIGHT | {"sensitive": "code"})
    assert "text that spells numbers" in said(found, "sensitive")
    assert "[--sensitive-kind code=continuous]!" in said(found, "sensitive")
    assert found.command is not None


def test_too_few_who_told() -> None:
    table(sex=["", *people().sex[1:29], *[""] * 371])
    found = examined(**RIGHT, missing="impute")
    assert "28 of 400 people with a value; allowed: 30 or more" in said(found, "sensitive")
    assert said(found, "sensitive").endswith("[--unknown drop]!")


def test_a_group_that_is_dropped() -> None:
    table(race=["Other", *RACES[1:]], gap=["", *range(399)])
    options = RIGHT | {"sensitive": "race", "missing": "drop"}
    assert "nobody of 'Other' once" in said(examined(**options), "rows")
    assert examined(**options | {"missing": "impute"}).accepted


def test_kinds_of_labels() -> None:
    grades = np.arange(400) % 5
    table(grade=grades, grade2=grades, other=(grades * 2 + 1) % 5, one="x")
    found = examined(**RIGHT | {"label": "grade"})
    assert found.inferred["label"] == (
        "5 classes, '0', '1', '2', '3', '4'; --task regression makes numbers of them"
    )
    assert said(found, "'grade2'") == "identical to the label column 'grade' [--drop grade2]"
    assert said(found, "'other'") == "one-to-one with the label column 'grade' [--drop other]"
    found = examined(**RIGHT | {"label": "grade", "task": "regression"})
    assert found.inferred["label"] == (
        "numbers from 0 to 4; --task classification makes classes of them"
    )
    found = examined(**RIGHT | {"label": "income"})
    assert found.accepted
    assert (
        found.inferred["label"]
        == f"numbers from {people().income.min()} to {people().income.max()}"
    )
    found = examined(**RIGHT | {"label": "income", "task": "classification"})
    assert "[--task regression, or use --task regression" in said(found, "label")
    assert found.command is not None
    assert "--task regression" in found.command
    for options in ({"label": "one"}, {"task": "regression"}, {"positive": "perhaps"}):
        found = examined(**RIGHT | options)
        assert said(found, "label").endswith("!")
        assert found.command is None
    assert examined(**RIGHT).inferred["label"] == "two classes, 'yes' counts as 1, 'no' as 0"


def test_amounts_of_everybody_are_no_copies() -> None:
    amounts = np.arange(400) * 97 + 13
    table(amount=amounts, same=amounts, other=amounts[::-1])
    found = examined(**RIGHT | {"label": "amount"})
    assert said(found, "'same'") == "identical to the label column 'amount' [--drop same]"
    assert said(found, "'other'") == ""


def friends(**columns: Any) -> pd.DataFrame:
    return pd.read_csv(FRIENDS).assign(**columns)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_weights_of_edges(ending: str) -> None:
    count = len(friends())
    options = LISTED | {"edges": f"friends.{ending}"}

    def save(**columns: Any) -> None:
        frame = friends(**columns)
        _ = (
            frame.to_csv("friends.csv", index=False)
            if ending == "csv"
            else frame.to_parquet("friends.parquet")
        )

    save(hours=np.arange(count) % 7 + 0.5, kind="x")
    found = examined(**options)
    assert said(found, "edges") == (
        "the third column, 'hours', holds positive numbers, which are not used; "
        "if they are weights, say so [--weight hours]"
    )
    assert found.inferred["edges"] == f"{count:,}, both ways"
    found = examined(**options, weight="hours", directed=True)
    assert found.findings == ()
    assert found.inferred["edges"] == f"{count:,}, from the first end to the second, with weights"
    found = examined(**options, weight="hors")
    assert said(found, "--weight").endswith("[--weight hours]!")
    assert found.command is not None
    found = examined(**options, weight="kind")
    assert "positive finite numbers" in said(found, "--weight")
    assert found.command is None
    for values in (1, np.arange(count), np.arange(count) - 5.5, "x"):
        save(hours=values)
        assert examined(**options).findings == ()


def test_weights_without_a_name() -> None:
    frame = friends(hours=np.arange(len(friends())) % 7 + 1)
    frame.to_csv("friends.csv", index=False, header=False)
    assert "begin the list with a line such as source,target,weight" in said(
        examined(**LISTED), "edges"
    )
    found = examined(**LISTED, weight="1")
    assert "a list without names of its columns" in said(found, "--weight")
    assert found.command is None


def test_directions_of_edges() -> None:
    frame = friends()
    back = frame.rename(columns={"source": "target", "target": "source"})
    pd.concat([frame, back]).to_csv("friends.csv", index=False)
    assert examined(**LISTED).findings == ()
    pd.concat([frame, back[:9]]).to_csv("friends.csv", index=False)
    assert said(examined(**LISTED), "edges").endswith(
        "if edges have directions, say so [--directed]"
    )
    assert examined(**LISTED, directed=True).findings == ()
    found = examined(**LISTED, directed=False)
    assert found.findings == ()
    assert str(found.command).endswith("--no-directed")


def test_people_at_one_end_of_arcs_are_linked() -> None:
    Path("friends.csv").write_text("source,target\nP0000,P0001\nP0002,P0003\n")
    assert "396 of 400 people have no link" in said(examined(**LISTED, directed=True), "edges")
