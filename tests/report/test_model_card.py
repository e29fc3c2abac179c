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
from fairgear.report.model_card import _bullets, _table
from fairgear.report.numbers import between, measure
from tests.report.example import example, example_data, hostile, made, undefined

HOSTILE = (
    "<script>a</script> | `x` **b** [l](http://x) ![i](u) \\| & &lt; ~~s~~ $m$ # 🦊\n## h\n---"
)


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


def test_a_card_has_every_part() -> None:
    card = model_card(example())
    assert card.startswith("## Fairness audit (fairgear)\n")
    assert _headings(card)[1:] == [
        "Measures",
        "Whose answer changes, by intervention",
        "By group",
        "How the answer depends on the causal model",
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
    metrics, flips, groups, models, _ = _tables(model_card(audit))
    for found in (metrics, flips, groups, models):
        assert len({len(row) for row in found}) == 1
    assert metrics[1:] == [
        [m.label, m.direction, measure(audit.metrics[n]), between(audit.intervals[n])]
        for n, m in METRICS.items()
    ]
    assert len(flips) == 1 + len(audit.flips)
    assert groups[0][1:] == ["group 0, women", "group 1, men", "group 1, men minus group 0, women"]
    assert groups[5][1] == "46.8 % (40.8 % to 52.3 %)"
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
    assert shown in [row[0] for row in _tables(card)[3]]


@given(cell=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30))
@explicit("a\\|b")
@explicit("|---|")
@explicit("\\")
@explicit("1. x")
def test_any_text_comes_back_from_a_table_and_from_a_list(cell: str) -> None:
    shown = " ".join(cell.split())
    ((_, found),) = _tables(_table(["first", "second"], [["x", cell]]))
    assert found[1] == shown
    if shown:
        (item,) = [token for token in _tokens(_bullets([cell])) if token.type == "inline"]
        assert "".join(child.content for child in item.children or ()) == shown


def test_parts_may_be_missing() -> None:
    bare = example(flips=[], causal_models=None, probes=None, provenance=None, notes=[])
    card = model_card(bare)
    assert _headings(card) == ["Fairness audit (fairgear)", "Measures", "By group"]
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
