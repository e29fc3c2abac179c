"""What is made of an audit: a table, files, failures, and comparisons with another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, audit
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.causal import FittedCausalModel
from fairgear.errors import FairgearError, FileError, ParameterError
from fairgear.files import json_ready
from fairgear.metrics import METRICS
from tests.auditing.models import Constant, CopiesSens, Everything, small_graph


def test_one_table_of_all_that_has_an_interval(everything: Audit) -> None:
    table = everything.to_frame()
    assert list(table) == ["part", "name", "value", "low", "high", "people"]
    assert everything.causal_models is not None
    counts = {
        "metric": len(METRICS),
        "flips": len(everything.flips),
        "group": 2 * 7,
        "causal model": len(everything.causal_models.rows),
        "dose": 5,
    }
    assert table["part"].value_counts(sort=False).to_dict() == counts
    assert not table.duplicated(["part", "name"]).any()
    numbers = table[["value", "low", "high", "people"]].to_numpy().tolist()
    rows = dict(zip(zip(table["part"], table["name"], strict=True), numbers, strict=True))
    asked = dict.fromkeys(METRICS, 60) | {
        key: int(everything.people[f"flip_{where}"].notna().sum())
        for key, where in COUNTERFACTUAL.items()
    }
    assert asked["delta_cf_neighbor"] < 60
    asked["delta_eo"] = int((everything.people["y"] == 1).sum())
    for key, interval in everything.intervals.items():
        assert rows["metric", key] == [everything.metrics[key], *interval, asked[key]]
    assert (table["low"] - 1e-9 <= table["value"]).all()
    assert (table["value"] <= table["high"] + 1e-9).all()
    assert rows["causal model", "own"][0] == everything.metrics["delta_cf"]
    measured = everything.people["flip_strict_neighbours"].notna().sum()
    assert rows["flips", "strict neighbours"][3] == measured


def test_the_same_model_twice_differs_in_nothing(everything: Audit) -> None:
    found = everything.compare(everything)
    bounds = everything.causal_models.metrics() if everything.causal_models else {}
    assert [row.metric for row in found.rows] == [key for key in METRICS if key not in bounds]
    assert all(row.difference == 0 and row.better is None for row in found.rows)
    for row in found.rows:
        assert row.first == row.second == pytest.approx(everything.metrics[row.metric])
    assert (found.first, found.second) == ("Everything", "Everything")


def test_two_models_on_the_same_people(worlds: Worlds, everything: Audit) -> None:
    copies = audit(CopiesSens(), worlds)
    rows = {row.metric: row for row in everything.compare(copies).rows}
    assert rows["delta_cf_self"].better == "first"
    for key, row in rows.items():
        expected = everything.metrics[key] - copies.metrics[key]
        assert row.difference == pytest.approx(expected, nan_ok=True)


def test_other_counterfactuals_cannot_be_compared(
    graph: SensitiveGraph, worlds: Worlds, everything: Audit
) -> None:
    fitted = FittedCausalModel(edges="fixed").fit(graph)
    few: dict[str, Any] = {"self_people": 0, "other_causal_models": False}
    for other in (
        Worlds(graph, seed=1),
        Worlds(graph, draws=2),
        Worlds(graph, protocol="released", released_share=0.2),
        Worlds(graph, fitted),
        Worlds(small_graph(seed=1)),
    ):
        with pytest.raises(ParameterError, match="audits on different graphs"):
            everything.compare(audit(Constant(), other, **few))
    elsewhere = audit(Constant(), worlds, nodes=graph.val_mask, **few)
    with pytest.raises(ParameterError, match="two tables of people"):
        everything.compare(elsewhere)
    # Made anew, the same worlds are the same.
    again = audit(Everything(), small_graph(), protocol="released", other_causal_models=False)
    assert all(row.difference == 0 for row in everything.compare(again).rows)


def test_failures(worlds: Worlds, everything: Audit) -> None:
    value, ends = everything.metrics["delta_cf"], everything.intervals["delta_cf"]
    assert everything.failures("delta_cf > 0.05", "auroc < 0.1") == [
        f"delta_cf is {value:.4g} (interval {ends.low:.4g} to {ends.high:.4g}), which is > 0.05."
    ]
    assert everything.failures() == []
    (undefined,) = audit(Constant(), worlds).failures("r2 > 0.5")
    assert undefined.startswith("r2 is undefined")
    with pytest.raises(ParameterError, match="a condition"):
        everything.failures("delta_cf")


def test_files_are_written_whole(everything: Audit, tmp_path: Path) -> None:
    page, card = (tmp_path / "new" / name for name in ("a.html", "a.md"))
    everything.save_html(page)
    everything.save_model_card(card)
    # No temporary file stays.
    assert {path.name for path in page.parent.iterdir()} == {"a.html", "a.md"}
    assert page.read_text().rstrip().endswith("</html>")
    assert card.read_text() == everything.model_card()


def test_a_file_that_cannot_be_written_leaves_what_was_there(
    everything: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, save in (
        ("a.html", everything.save_html),
        ("a.md", everything.save_model_card),
    ):
        (tmp_path / name).write_text("before")
        with pytest.raises(FairgearError, match="cannot write"):
            save(tmp_path)
        with monkeypatch.context() as patch:
            # As on a full disk: the last step fails.
            patch.setattr("os.replace", _refuse)
            with pytest.raises(FairgearError, match="cannot write"):
                save(tmp_path / name)
        assert (tmp_path / name).read_text() == "before"
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "a.md"}


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_results_nested_too_deep_are_refused_in_one_line(everything: Audit, tmp_path: Path) -> None:
    everything.save(tmp_path)
    whole = (tmp_path / "audit.json").read_text(encoding="utf-8")
    deep = whole.replace('"notes": [', '"notes": [' + "[" * 10**5 + "]" * 10**5 + ",", 1)
    assert deep != whole
    (tmp_path / "audit.json").write_text(deep, encoding="utf-8")
    # Else the sums say that it is another file before it is parsed.
    (tmp_path / "SHA256SUMS").unlink()
    with pytest.raises(FileError, match=r"no audit\.json and people\.parquet"):
        Audit.load(tmp_path)


def test_the_level_of_an_audit_is_that_of_its_comparisons(worlds: Worlds) -> None:
    one, other = (
        audit(model, worlds, self_people=0, other_causal_models=False, level=0.8)
        for model in (Everything(), Constant())
    )
    found = json_ready(one.compare(other))
    assert found == json_ready(one.compare(other, level=0.8))
    assert found != json_ready(one.compare(other, level=0.95))
