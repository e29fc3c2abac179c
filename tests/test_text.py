from __future__ import annotations

import unicodedata

import pytest

from fairgear import progress
from fairgear.cli import output
from fairgear.cli.app import main
from fairgear.errors import FairgearError
from fairgear.text import on_one_line, visible

HOSTILE = "a\x1b[31mb\u202ec\x9bd\ud800e\u2028f\rg"


def test_what_steers_is_written_out_and_all_else_stays() -> None:
    for code in range(0x11000):
        one = chr(code)
        hidden = unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        kept = one in "\n\t\u200c\u200d" or not hidden
        assert visible(one) == (one if kept else f"‹U+{code:04X}›")
    assert visible("Zoë δCF 5 %") == "Zoë δCF 5 %"
    assert on_one_line("a\nb\x0bc\u2028d") == "a b c d"


@pytest.mark.parametrize("way", ["log", "say", "complain", "table", "error", "parser"])
def test_every_way_to_the_terminal(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    if way == "log":
        progress.log(HOSTILE)
    elif way == "say":
        output.say(HOSTILE)
    elif way == "complain":
        output.complain(HOSTILE)
    elif way == "table":
        output.print_table(HOSTILE, ("column",), [(HOSTILE,)])
    elif way == "error":
        output.complain(str(FairgearError(HOSTILE, HOSTILE, HOSTILE, HOSTILE)))
    else:
        assert main(["run", "--seed", HOSTILE]) == 2
    shown = capsys.readouterr()
    text = shown.out + shown.err
    # The character may stand in a repr.
    assert "‹U+001B›" in text or "x1b" in text
    for one in "\x1b\u202e\x9b\ud800\u2028\r":
        assert one not in text


def test_a_message_shows_the_beginning_of_a_long_part() -> None:
    said = str(FairgearError("a cell", "x" * 10**6, "short ones", "shorten it"))
    assert len(said) < 1000
    assert "xxx…" in said
