from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fairgear.errors import FairgearError
from fairgear.metrics import METRICS
from fairgear.report import model_card
from fairgear.report.markdown import bullets, table
from fairgear.report.numbers import between, measure
from tests.report.audit_example import example_audit
from tests.report.variants import hostile, undefined

HOSTILE = (
    "<script>a</script> | `x` **b** [l](http://x) ![i](u) \\| & &lt; ~~s~~ $m$ # 🦊\n## h\n---"
)
PARTS = ["model", "metrics", "config", "provenance", "details", "causal_models"]


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
    card = model_card(example_audit())
    assert card.startswith("## Fairness audit (fairgear)\n")
    assert _headings(card)[1:] == [
        "Measures",
        "Whose answer changes, by intervention",
        "By group",
        "How the answer moves with the causal model",
        "Cautions and notes",
    ]
    assert "loans-gnn-v3 (PyTorch module) was audited on 500 people of synthetic." in card
    assert "It does not look at the sensitive column" in card
    assert "Read it only beside accuracy and AUROC" in card
    assert "- This verdict depends on the causal model: δCF is 0.1210" in card
    assert card.rstrip().splitlines()[-1].startswith("Measured by fairgear 0.1.0, seed 0, data")


def test_tables_hold_every_number_and_keep_their_shape() -> None:
    audit = example_audit()
    metrics, flips, groups, models = _tables(model_card(audit))
    for found in (metrics, flips, groups, models):
        assert len({len(row) for row in found}) == 1
    assert metrics[1:] == [
        [m.label, m.direction, measure(audit["metrics"][n]), between(tuple(audit["intervals"][n]))]
        for n, m in METRICS.items()
    ]
    assert len(flips) == 1 + len(audit["details"]["flips"])
    assert groups[0][1:] == ["group 0, women", "group 1, men", "group 1, men minus group 0, women"]
    assert groups[5][1] == "46.8 % (40.8 % to 52.3 %)"
    assert models[1][0] == "shift and rule (this audit)"
    assert models[-1][2:] == ["could not be asked", audit["causal_models"]["rows"][-1]["error"]]


def test_hostile_text_neither_formats_nor_breaks_a_table() -> None:
    audit = hostile(example_audit(), HOSTILE)
    audit["metrics"][HOSTILE] = 0.5
    card, plain = model_card(audit), model_card(example_audit())
    assert _kinds(card) <= _kinds(plain)
    assert _headings(card) == _headings(plain)
    for hard, easy in zip(_tables(card), _tables(plain), strict=True):
        assert {len(row) for row in hard} == {len(row) for row in easy}
    shown = " ".join(HOSTILE.split())
    assert shown in [row[0] for row in _tables(card)[0]]


@given(cell=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30))
@example("a\\|b")
@example("|---|")
@example("\\")
@example("1. x")
def test_any_text_comes_back_from_a_table_and_from_a_list(cell: str) -> None:
    shown = " ".join(cell.split())
    ((_, found),) = _tables(table(["first", "second"], [["x", cell]]))
    assert found[1] == shown
    if shown:
        (item,) = [token for token in _tokens(bullets([cell])) if token.type == "inline"]
        assert "".join(child.content for child in item.children or ()) == shown


@pytest.mark.parametrize("part", PARTS)
def test_any_part_may_be_missing(part: str) -> None:
    audit = example_audit()
    del audit[part]
    card = model_card(audit)
    assert "None" not in card
    assert "Read it only beside accuracy and AUROC" in card


def test_an_empty_audit_gives_a_card_without_numbers() -> None:
    card = model_card({})
    assert _headings(card) == ["Fairness audit (fairgear)", "Measures"]
    assert card.count("interval undefined") == len(METRICS)
    assert model_card(undefined(example_audit())).count("undefined") > 2 * len(METRICS)


def test_a_note_that_repeats_a_caution_stands_once() -> None:
    audit = example_audit()
    before = model_card(audit)
    audit["details"]["notes"].insert(0, audit["causal_models"]["verdict"])
    assert model_card(audit) == before


def test_the_same_audit_gives_the_same_card() -> None:
    audit = example_audit()
    assert model_card(audit) == model_card(json.loads(json.dumps(audit)))


@pytest.mark.parametrize("audit", [[], {"details": {"flips": 1}}, {"provenance": "0.1.0"}])
def test_a_misshapen_audit_is_refused(audit: Any) -> None:
    with pytest.raises(FairgearError, match="an audit as it was saved"):
        model_card(audit)
