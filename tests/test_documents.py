from __future__ import annotations

import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fairgear.documents import DEPTH, MOST_REPEATED, DocumentError, json_of, yaml_of

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(string.printable, max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)


@given(VALUES)
def test_what_another_library_writes_is_read_as_it_reads_it(value: object) -> None:
    text = yaml.safe_dump(value)
    assert yaml_of(text) == yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 2020-01-01", {"a": "2020-01-01"}),
        ("[no, '1', 1_000, 0x10, .5]", [False, "1", 1000, 16, 0.5]),
        ("a: &x {b: 1}\nc: [*x, *x]", {"a": {"b": 1}, "c": [{"b": 1}, {"b": 1}]}),
        ("a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("{<<: [{a: 1}, {a: 2, b: 2}]}", {"a": 1, "b": 2}),
        ("[" * DEPTH + "]" * DEPTH, eval("[" * DEPTH + "]" * DEPTH)),
    ],
)  # fmt: skip
def test_plain_values(text: str, value: object) -> None:
    assert yaml_of(text) == value


def test_everything_as_text() -> None:
    assert yaml_of("no: [1, ~, 2020-01-01]\n1: x", texts=True) == {
        "no": ["1", "~", "2020-01-01"],
        "1": "x",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: !!str 1", "the tag"),
        ("{1: 2}", "which is no text"),
        ("a: 1\na: 2", "twice"),
        ("a: *b", "without an anchor"),
        ("<<: 1", "without a mapping"),
        ("a: &a [*a]", "without an anchor"),
        ("1\n---\n2", "several documents"),
        ("[" * (DEPTH + 1) + "]" * (DEPTH + 1), "inside each other"),
        ("a: " + "9" * 401, "a number of 401 characters"),
        ("a: [", "no valid YAML"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(DocumentError, match=said):
        yaml_of(text)


def test_aliases_repeat_so_much_and_no_more() -> None:
    row = "a: &a [" + "1, " * 99 + "]\nb: ["
    times = MOST_REPEATED // 100
    assert len(yaml_of(f"{row}{'*a, ' * times}]")["b"]) == times
    with pytest.raises(DocumentError, match="aliases that repeat more than"):
        yaml_of(f"{row}{'*a, ' * (times + 1)}]")


def test_json() -> None:
    assert json_of('{"a": [1, 2.5, null, true, "x"]}') == {"a": [1, 2.5, None, True, "x"]}
    with pytest.raises(DocumentError, match="NaN"):
        json_of("[NaN]")
    (found,) = json_of("[NaN]", constants=True)
    assert found != found
