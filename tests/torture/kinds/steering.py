"""Escape sequences, marks of direction, formulas and markup in whatever people may name."""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tests.hostile.inputs import STEERING
from tests.torture.shared import Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

PAYLOADS = {
    "escape": "\x1b]0;mine\x07\x1b[31m",
    "C1": "\x9b31mred",
    "direction": "\u202egnp.exe\u2066\u200f",
    "lines": "a\u2028b\x85c",
    "formula": '=HYPERLINK("http://x","y")',
    "formula by tab": "\t=1+1",
    "formula by sign": "@SUM(1)",
    "script": "</script><script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "comment": "<!--",
    "template": "{{ 7*7 }}{% raw %}",
    "rich": "[red]x[/red] :smile:",
    "markdown": "[x](javascript:alert(1)) | `a` **b**",
    "quotes": "\"'`,;\\",
}
# Where it stands, and what is then typed for it.
WHERE = ("column", "category", "group", "label", "id", "sensitive", "file", "score id", "model")
_FORMULA = re.compile(r"[=+@\t\r]")
_STEERING_PAGE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each payload in each place."""
    for where in WHERE:
        for name in PAYLOADS:
            yield Trial(f"{name} in {where}", shown(where, PAYLOADS[name]))


def shown(where: str, text: str) -> Work:
    """Nothing of it reaches terminal, page or spreadsheet as it is."""

    def work(bench: Bench) -> str:
        words = _typed(bench, where, text)
        verdict = bench.judged(bench.run(words))
        if words[0] == "run":
            bench.judged(bench.run(["data", *words[1:4]]), lines=(0, 1))
        if verdict != REFUSED:
            _clean(bench.place / "out", text)
        return verdict

    return work


def _typed(bench: Bench, where: str, text: str) -> list[str]:
    people = pd.read_csv(bench.place / "p.csv")
    name, label, sensitive = "q.csv", "approved", "sex"
    if where == "column":
        people = people.rename(columns={"age": text})
    elif where == "category":
        people["job"] = people["job"].where(people["job"] != "clerk", text)
    elif where == "group":
        people["sex"] = people["sex"].where(people["sex"] != "female", text)
    elif where == "label":
        people["approved"] = people["approved"].where(people["approved"] != "yes", text)
    elif where == "id":
        people["id"] = [f"{text}{i}" for i in range(len(people))]
    elif where == "sensitive":
        people, sensitive = people.rename(columns={"sex": text}), text
    elif where == "file":
        name = text.replace("/", "\u2215") + ".csv"
    people.to_csv(bench.place / name, index=False)
    columns = ["--label", label, f"--sensitive={sensitive}"]
    if where in ("score id", "model"):
        scores = pd.read_csv(bench.place / "scores.csv")
        if where == "score id":
            scores.loc[3, "id"] = text
        given = text.replace("/", "\u2215") + ".csv" if where == "model" else "s.csv"
        scores.to_csv(bench.place / given, index=False)
        return ["audit", f"./{given}", "q.csv", *columns, "--out", "out"]
    end = ["--method", "logistic", "--device", "cpu", "--quick", "--similarity", "0.7"]
    return ["run", f"./{name}", *columns, *end, "--out", "out"]


def _clean(out: Path, text: str) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    found = _STEERING_PAGE.search(page)
    must(not found, f"{found and found.group()!r} in the page")
    for raw in ("<script>alert", "<img src=x", "</script><script>"):
        must(raw not in page, f"{raw} in the page")
    card = (out / "model-card.md").read_text(encoding="utf-8")
    found = STEERING.search(card.replace("\n", ""))
    must(not found, f"{found and found.group()!r} in the model card")
    with (out / "people.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            for cell in row:
                must(not _FORMULA.match(cell), f"a cell {cell[:40]!r}")
                must(
                    not STEERING.search(cell.replace("\n", "").replace("\t", "")),
                    f"a cell {cell!r}",
                )
    json.loads((out / "audit.json").read_text())
