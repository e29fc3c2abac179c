from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import example as explicit
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fairgear.metrics import METRICS
from fairgear.report import model_card
from fairgear.report.markdown import bullets, table
from fairgear.report.numbers import between, measure
from tests.report.example import example, example_data, hostile, made, undefined

HOSTILE = (
    "<script>a</script> | `x` **b** [l](http://x) ![i](u) \\| & &lt; ~~s~~ $m$ # 🦊\n## h\n---"
)


_GOVERNANCE = [
    "Assumptions",
    "Data governance (Regulation (EU) 2024/1689, Article 10(2)(a)–(h))",
    "Bias in the terms of ISO/IEC TR 24027:2021",
]


def _tokens(card: str) -> list[Token]:
    # HTML is let through, so that some would be found if there were any.
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(card)


def _tables(card: str) -> list[list[list[str]]]:
    """Every table as rows of cells, read by another Markdown parser."""
    found: list[list[list[str]]] = []
    inside = False
    for token in _tokens(card):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            inside = True
        elif inside and token.type == "inline":
            found[-1][-1].append("".join(child.content for child in token.children or ()))
            inside = False
    return found


def _kinds(card: str) -> set[str]:
    tokens = _tokens(card)
    return {token.type for token in tokens} | {
        child.type for token in tokens for child in token.children or ()
    }


def _headings(card: str) -> list[str]:
    tokens = _tokens(card)
    return [tokens[at + 1].content for at, t in enumerate(tokens) if t.type == "heading_open"]


def test_invisible_characters_are_written_out() -> None:
    card = model_card(made(hostile(example_data(), "a\u202eb\x1b[2J")))
    assert "a‹U+202E›b‹U+001B›" in card
    assert "\u202e" not in card
    assert "\x1b" not in card


def test_a_card_has_every_part() -> None:
    card = model_card(example())
    assert card.startswith("## Fairness audit (fairgear)\n")
    assert _headings(card)[1:] == [
        "Measures",
        "Whose answer changes, by intervention",
        "By group",
        "How the answer depends on the causal model",
        *_GOVERNANCE,
        "Cautions and notes",
        "Where the numbers come from",
    ]
    assert "loans-gnn-v3 (PyTorch module) was audited on 500 people of synthetic." in card
    assert "It does not read the sensitive column" in card
    assert "Read it only beside accuracy and AUROC" in card
    assert "- The verdict depends on the causal model: δCF is 0.1210" in card
    assert "\nMeasured by fairgear 0.1.0, Python 3.11.9, PyTorch 2.13.0+cpu, seed 0, " in card
    files = _tables(card)[-1][1:]
    assert files == [["people.csv", "table", "ab" * 32], ["gcn.py", "model code", "cd" * 32]]


def test_tables_hold_every_number_and_keep_their_shape() -> None:
    audit = example()
    metrics, flips, groups, models, governance, bias, sources, _ = _tables(model_card(audit))
    for found in (metrics, flips, groups, models, governance, bias, sources):
        assert len({len(row) for row in found}) == 1
    assert metrics[1:] == [
        [m.label, m.direction, measure(audit.metrics[n]), between(audit.intervals[n])]
        for n, m in METRICS.items()
    ]
    assert len(flips) == 1 + len(audit.flips)
    names = ["women", "men", "men minus women", "sensitive attribute unknown"]
    assert [row[0] for row in groups[1:]] == names
    assert groups[1][3:5] == [
        "46.8 % (40.8 to 52.3 %)",
        "0.873 (0.813 to 0.928): over 4/5",
    ]
    assert models[1][0] == "this audit's own"
    assert audit.causal_models is not None
    assert models[-1][2:] == [audit.causal_models.rows[-1].error, "not available", ""]


def test_hostile_text_neither_formats_nor_breaks_a_table() -> None:
    card, plain = model_card(made(hostile(example_data(), HOSTILE))), model_card(example())
    assert _kinds(card) <= _kinds(plain)
    assert _headings(card) == _headings(plain)
    for hard, easy in zip(_tables(card), _tables(plain), strict=True):
        assert {len(row) for row in hard} == {len(row) for row in easy}
    shown = " ".join(HOSTILE.split())
    models = next(found for found in _tables(card) if found[0][0] == "causal model")
    assert shown in [row[0] for row in models]


@given(cell=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30))
@explicit("a\\|b")
@explicit("|---|")
@explicit("\\")
@explicit("1. x")
def test_any_text_comes_back_from_a_table_and_from_a_list(cell: str) -> None:
    shown = " ".join(cell.split())
    ((_, found),) = _tables(table(["first", "second"], [["x", cell]]))
    assert found[1] == shown
    if shown:
        (item,) = [token for token in _tokens(bullets([cell])) if token.type == "inline"]
        assert "".join(child.content for child in item.children or ()) == shown


def test_parts_may_be_missing() -> None:
    bare = example(flips=[], causal_models=None, probes=None, provenance=None, notes=[])
    card = model_card(bare)
    assert _headings(card) == [
        "Fairness audit (fairgear)",
        "Measures",
        "Whose answer changes, by intervention",
        "By group",
        *_GOVERNANCE,
    ]
    assert "Not measured: there is no causal model for this graph." in card
    assert "None" not in card
    assert "Read it only beside accuracy and AUROC" in card


def test_undefined_numbers_are_called_undefined() -> None:
    data = undefined(example_data()) | {"setup": example_data()["setup"]}
    assert model_card(made(data)).count("undefined") > 2 * len(METRICS)


def test_a_note_that_repeats_a_caution_stands_once() -> None:
    audit = example()
    assert audit.causal_models is not None
    repeated = replace(audit, notes=(audit.causal_models.verdict, *audit.notes))
    assert model_card(repeated) == model_card(audit)


def test_the_same_audit_gives_the_same_card() -> None:
    assert model_card(example()) == model_card(made(json.loads(json.dumps(example_data()))))


def test_every_point_of_article_10_has_what_is_known_and_what_is_open() -> None:
    audit = example()
    governance = next(found for found in _tables(model_card(audit)) if found[0][0] == "point")
    assert [row[0] for row in governance[1:]] == [f"({letter})" for letter in "abcdefgh"]
    assert all(row[3].startswith("To be filled in") for row in governance[1:])
    known = {row[0]: row[2] for row in governance[1:]}
    assert "“granted” is given above a score of 0.5." in known["(a)"]
    assert known["(b)"] == "Read from synthetic. Its hash stands at the end of this section."
    assert "1,000 people to train, 500 to validate and 500 to test." in known["(c)"]
    assert known["(e)"].endswith("500 audited, 205 of the smallest group, women.")
    assert "0.5 % of answers change with own attribute (0.1 % to 1.3 %)" in known["(f)"]
    lowest = "The lowest impact ratio is 0.873 (0.813 to 0.928), of women, 96 of 205 selected."
    assert lowest in known["(f)"]
    assert known["(h)"] == "112 have no link."


def test_gaps_in_the_data_are_counted() -> None:
    data = example_data()
    data["graph"] |= {"labelled": 1990, "isolated": 0}
    data["groups"][0]["count"] = 9
    card = model_card(made(data))
    assert "No label is known of 10 people; less than 2 % of the audited each: “women”." in card


def test_terms_of_the_standard_have_the_figures_of_the_groups() -> None:
    data = example_data()
    data["groups"][1]["false_positive_rate"] = 0.314
    bias = dict(next(t for t in _tables(model_card(made(data))) if t[0] == ["measure", "here"]))
    assert bias["Demographic parity"].startswith("Selection rates differ by up to 0.068.")
    assert bias["Equality of opportunity"] == "True positive rates differ by up to 0.041."
    assert bias["Predictive equality"] == "False positive rates differ by up to 0.100."
    assert bias["Equalized odds"] == "Both of these: 0.041 and 0.100."


def test_small_groups_are_not_the_measure_of_the_others() -> None:
    data = example_data()
    small = {"count": 1, "selected": 0, "selection_rate": 0.0, "impact_ratio": 0.0}
    data["groups"].append({**data["groups"][0], "group": 2, **small})
    card = model_card(made(data))
    assert "The lowest impact ratio is 0.873" in card
    assert "Selection rates differ by up to 0.068" in card
    assert "Smaller groups are in the table." in card


def test_equal_rates_have_no_lowest() -> None:
    data = example_data()
    same = {"selection_rate": 0.536, "impact_ratio": 1.0}
    data["groups"][0] |= same
    assert "All groups have the same selection rate." in model_card(made(data))


def test_the_card_never_says_that_a_system_conforms() -> None:
    card = model_card(example())
    assert "no statement that the system conforms" in card
    assert card.lower().count("conform") == 1
    assert "compli" not in card.lower()
