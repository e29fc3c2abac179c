"""Files of scores: whose they are, what they hold, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing.exchange.given_scores import read_given
from fairgear.errors import FairgearError
from fairgear.graph import from_tables

PEOPLE = pd.DataFrame(
    {
        "person": ["a7", "b", "007", "Ann, jr"],
        "sex": ["f", "m", "f", "m"],
        "plan": ["basic", "gold", "free", "gold"],
        "approved": ["no", "yes", "yes", "no"],
        "amount": [1.5, 2.0, 3.25, 4.0],
    }
)


def graph(label: str = "approved", **options: str) -> SensitiveGraph:
    named = options or {"id": "person"}
    table = PEOPLE if "person" in named.values() else PEOPLE.drop(columns="person")
    task = "regression" if label == "amount" else None
    given: dict[str, object] = {"label": label, "sensitive": "sex", "task": task, "linked": False}
    return from_tables(table, **given, **named)  # type: ignore[arg-type]  # by name


def rows(found: SensitiveGraph) -> list[str]:
    return [found["node_names"][number] for number in found.node_id.tolist()]


WRITTEN = {
    "own name": "person,score\nAnn%,0.4\na7,0.1\n007,0.3\nb,0.2\n",
    "node_name": "node_name,score\nAnn%,0.4\na7,0.1\n007,0.3\nb,0.2\n",
    "id, capital": "ID;x;score\nAnn, jr;?;0,4\na7;?;0,1\n007;?;0,3\nb;?;0,2\n",
    "row numbers": "node_id,score\n3,0.4\n0,0.1\n2,0.3\n1,0.2\n",
    "in order": "score\n0.1\n0.2\n0.3\n0.4\n",
}


@pytest.mark.parametrize("way", WRITTEN)
def test_scores_are_found_by_id_or_order(tmp_path: Path, way: str) -> None:
    path, people = tmp_path / "s.csv", graph()
    path.write_text(WRITTEN[way].replace("Ann%", '"Ann, jr"'))
    found = read_given(path, people, people.target, id="person")
    by_name = dict(zip([rows(people)[row] for row in found.rows], found.values, strict=True))
    assert by_name == {"a7": 0.1, "b": 0.2, "007": 0.3, "Ann, jr": 0.4}
    assert bool(found.notes) == (way == "in order")


def test_other_kinds_of_files(tmp_path: Path) -> None:
    people = graph()
    table = pd.DataFrame({"person": PEOPLE["person"][::-1], "score": [0.4, 0.3, 0.2, 0.1]})
    table.to_parquet(tmp_path / "s.parquet")
    found = read_given(tmp_path / "s.parquet", people, people.target, id="person")
    assert found.of(np.arange(4))[0].tolist() == [0.1, 0.2, 0.3, 0.4]
    np.save(tmp_path / "s.npy", np.array([[0.1], [0.2], [0.3], [0.4]], dtype=np.float32))
    found = read_given(tmp_path / "s.npy", people, people.target)
    assert found.values[:, 0].tolist() == np.array([0.1, 0.2, 0.3, 0.4], np.float32).tolist()
    # Whole numbers as ids, which passed through floats elsewhere.
    numbered = from_tables(
        PEOPLE.assign(id=[40, 2**53 + 1, 7, 0]), linked=False, sensitive="sex", label="approved"
    )
    (tmp_path / "n.csv").write_text(f"id,score\n7.0,0.3\n0,0.4\n{2**53 + 1},0.2\n40,0.1\n")
    found = read_given(tmp_path / "n.csv", numbered, numbered.target)
    assert found.of(np.arange(4))[0].tolist() == [0.1, 0.2, 0.3, 0.4]


SHUFFLED = {
    "names": ("applicant,score\nb,0.2\na7,0.1\n007,0.3\nzz,0.4\n", "column 'applicant'", "id"),
    "numbers of rows": ("row;score\n3;0,4\n0;0,1\n2;0,3\n1;0,2\n", "column 'row'", "node_id"),
    "an index": (",score\nb,0.2\na7,0.1\n007,0.3\nzz,0.4\n", "the column without a name", "id"),
    "answers": ("answer,who\nyes,b\nno,a7\nno,007\nno,zz\n", "column 'who'", "id"),
}


@pytest.mark.parametrize("case", SHUFFLED)
def test_ids_under_an_unknown_name_are_not_passed_over(tmp_path: Path, case: str) -> None:
    text, column, name = SHUFFLED[case]
    path, people = tmp_path / "s.csv", graph()
    path.write_text(text)
    with pytest.raises(FairgearError) as caught:
        read_given(path, people, people.target)
    said = str(caught.value)
    assert f"got {column}, which holds ids of these people; allowed: ids in a column 'id'" in said
    assert f"Next: name it {name}, or leave it out if the lines are in the order of" in said
    assert "\n" not in said


def test_the_index_of_a_parquet_file_is_not_passed_over(tmp_path: Path) -> None:
    path, people = tmp_path / "s.parquet", graph()
    table = PEOPLE[["person"]].assign(score=[0.1, 0.2, 0.3, 0.4])[::-1].set_index("person")
    table.to_parquet(path)
    found = read_given(path, people, people.target, id="person")
    assert found.of(np.arange(4))[0].tolist() == [0.1, 0.2, 0.3, 0.4]
    for name in (None, "applicant"):
        table.rename_axis(name).to_parquet(path)
        with pytest.raises(FairgearError, match="which holds ids of these people"):
            read_given(path, people, people.target)


@pytest.mark.parametrize(
    "text",
    [
        ",score\n0,.1\n1,.2\n2,.3\n3,.4\n",
        ",score\n1,.1\n2,.2\n3,.3\n4,.4\n",
        'applicant,score\na7,.1\nb,.2\n007,.3\n"Ann, jr",.4\n',
        "age,score\n1,.1\n1,.2\n41,.3\n40,.4\n",
        "size,score\n1.000e+300,.1\n2.000e+300,.2\n3.000e+300,.3\n4.000e+300,.4\n",
        "empty,score\n,.1\n,.2\n,.3\n,.4\n",
    ],
)
def test_lines_in_order_may_have_other_columns(tmp_path: Path, text: str) -> None:
    people = graph()
    (tmp_path / "s.csv").write_text(text)
    found = read_given(tmp_path / "s.csv", people, people.target)
    assert found.values.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found.notes[0].startswith("The scores have no column of ids")


def test_some_people_only(tmp_path: Path) -> None:
    people = graph()
    (tmp_path / "s.csv").write_text("person,score\n007,0.3\na7,0.1\n")
    found = read_given(tmp_path / "s.csv", people, people.target, id="person")
    assert sorted(found.rows.tolist()) == [0, 2]
    values, missing = found.of(np.array([2, 1, 0]))
    assert missing.tolist() == [1]
    assert values[[0, 2]].tolist() == [0.3, 0.1]


def test_answers_in_the_words_of_the_label(tmp_path: Path) -> None:
    people = graph()
    (tmp_path / "s.csv").write_text("answer\nyes\nno\nyes\nyes\n")
    assert read_given(tmp_path / "s.csv", people, people.target).values.tolist() == [1, 0, 1, 1]
    several = graph("plan")
    assert several.target.classes == ("basic", "free", "gold")
    (tmp_path / "p.csv").write_text("answer\ngold\nbasic\nfree\nfree\n")
    found = read_given(tmp_path / "p.csv", several, several.target)
    assert found.values.argmax(axis=1).tolist() == [2, 0, 1, 1]
    assert (found.values.sum(axis=1) == 1).all()


def test_a_column_for_every_class(tmp_path: Path) -> None:
    several = graph("plan")
    (tmp_path / "s.csv").write_text(
        "score_gold,score_free,score_basic\n.7,.2,.1\n.1,.2,.7\n.2,.4,.4\n0,1,0\n"
    )
    found = read_given(tmp_path / "s.csv", several, several.target)
    assert found.values.tolist() == [[0.1, 0.2, 0.7], [0.7, 0.2, 0.1], [0.4, 0.4, 0.2], [0, 1, 0]]


def test_labels_that_are_numbers(tmp_path: Path) -> None:
    numbers = graph("amount")
    assert numbers.target.is_number
    (tmp_path / "s.csv").write_text('person,score\nb,1200\na7,-3.5\n007,0\n"Ann, jr",9\n')
    found = read_given(tmp_path / "s.csv", numbers, numbers.target, id="person")
    assert found.of(np.arange(4))[0].tolist() == [-3.5, 1200, 0, 9]


FAULTS = {
    "nobody": ("person,score\na7,0.1\nzz,0.2\n", "got 1 ids of nobody, the first 'zz'; allowed: "),
    "repeated": ("person,score\na7,0.1\nb,1\na7,0.2\n", "got 1 repeated ids, the first 'a7'; "),
    "no id": ("person,score\na7,0.1\n,0.2\n", "got 1 lines without person; allowed: an id in "),
    "columns": ("person,p\na7,0.1\n", "got the columns 'person', 'p'; allowed: the column 'score'"),
    "too few": ("score\n0.1\n0.2\n", "got 2 rows and no ids; allowed: ids, or 4 rows, one a "),
    "words": ("person,score\na7,high\n", "got text, such as 'high'; allowed: numbers. Next: "),
    "infinite": ("person,score\na7,inf\n", "got infinite numbers; allowed: finite numbers."),
    "answers": ("person,answer\na7,maybe\n", "got 1 other answers, the first 'maybe'; allowed: "),
    "empty answers": ("person,answer\na7,yes\nb,\n", "got 1 other answers, the first ''; allowed:"),
    "empty": ("", "got an empty file; allowed: a file with rows."),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_one_line(tmp_path: Path, fault: str) -> None:
    path, people = tmp_path / "s.csv", graph()
    text, message = FAULTS[fault]
    path.write_text(text)
    with pytest.raises(FairgearError) as caught:
        read_given(path, people, people.target, id="person")
    said = str(caught.value)
    assert message in said
    assert "\n" not in said
    assert "Next: " in said
    assert "s.csv" in said


def test_arrays_that_are_none(tmp_path: Path) -> None:
    people = graph()
    for content, got in (
        (b"nonsense", "no array of numbers"),
        (None, "3 rows and no ids"),
    ):
        path = tmp_path / "s.npy"
        if content is None:
            np.save(path, np.zeros(3))
        else:
            path.write_bytes(content)
        with pytest.raises(FairgearError, match=f"got {got}"):
            read_given(path, people, people.target)
    (tmp_path / "s.csv").write_text("score\n1\n1\n1\n1\n")
    several = graph("plan")
    with pytest.raises(FairgearError, match="a column for every class"):
        read_given(tmp_path / "s.csv", several, several.target)


def test_a_name_that_is_another_persons_number(tmp_path: Path) -> None:
    """An id is taken for a name first: row numbers are fairgear's own."""
    table = PEOPLE.assign(person=["2", "x", "0", "1"])
    people = from_tables(table, linked=False, id="person", sensitive="sex", label="approved")
    (tmp_path / "s.csv").write_text("node_id,score\n2,0.1\nx,0.2\n0,0.3\n1,0.4\n")
    found = read_given(tmp_path / "s.csv", people, people.target)
    assert found.of(np.arange(4))[0].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert torch.equal(people.node_id, torch.arange(4))
