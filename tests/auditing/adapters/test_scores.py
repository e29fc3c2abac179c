"""Scores alone: what an audit of them measures, and what it says that it cannot."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, ScoresAdapter, Worlds, audit
from fairgear.auditing.adapters import adapt
from fairgear.errors import FairgearError
from fairgear.graph import from_tables
from fairgear.report import model_card, render_page
from fairgear.report.sections.headline import headline

TABLE = pd.read_csv("examples/applicants.csv")
SCORES = np.random.default_rng(7).beta(2, 2, len(TABLE)).round(3)


def people(**options: object) -> SensitiveGraph:
    given: dict[str, object] = {"label": "approved", "sensitive": "sex", "linked": False}
    return from_tables(TABLE, **{**given, **options})  # type: ignore[arg-type]  # by name


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return people()


@pytest.fixture(scope="module")
def alone(graph: SensitiveGraph) -> Audit:
    return audit(SCORES, graph)


def test_measures_are_those_of_scikit_learn(graph: SensitiveGraph, alone: Audit) -> None:
    y, answers = graph.y.numpy(), SCORES > 0.5
    assert len(alone.people) == len(TABLE)
    assert alone.metrics["accuracy"] == pytest.approx(accuracy_score(y, answers))
    assert alone.metrics["f1"] == pytest.approx(f1_score(y, answers))
    assert alone.metrics["auroc"] == pytest.approx(roc_auc_score(y, SCORES))
    rates = pd.Series(answers).groupby(graph.sens.numpy()).mean()
    assert alone.metrics["delta_dp"] == pytest.approx(abs(rates[1] - rates[0]))
    right = pd.Series(answers[y == 1]).groupby(graph.sens.numpy()[y == 1]).mean()
    assert alone.metrics["delta_eo"] == pytest.approx(abs(right[1] - right[0]))
    for row in alone.groups:
        assert row.selection_rate == pytest.approx(rates[row.group])
    for key in ("accuracy", "auroc", "delta_dp"):
        assert alone.metrics[key] in alone.intervals[key]


def test_nothing_is_said_about_other_worlds(alone: Audit) -> None:
    assert alone.model.kind == "file of scores"
    assert (alone.flips, alone.affected, alone.probes, alone.dose) == ((), (), None, None)
    assert (alone.causal_models, alone.diagnostics, alone.setup.causal_model) == (None,) * 3
    for key, value in alone.metrics.items():
        assert math.isnan(value) == (key.startswith("delta_cf") or key == "r2"), key
    assert "say nothing about other worlds" in alone.notes[0]
    assert "whom the model was trained on" in alone.notes[1]
    assert "R² is undefined: nobody has a link." in alone.notes
    assert not any("without a causal model" in note for note in alone.notes)
    assert not [name for name in alone.people if str(name).startswith("flip_")]
    page, card = render_page(alone), model_card(alone)
    assert page.count("Not measured: a file of scores says what people get as they are") == 4
    assert "Not measured: a file of scores says what people get as they are" in card
    assert "Not known: whether answers change with sex" in page


def test_a_model_that_gives_the_same_scores_measures_the_same() -> None:
    """On a graph with links, in every measure that needs no other world."""
    table = pd.read_csv("examples/people.csv")
    friends = pd.DataFrame({"a": table["id"][:-1].to_numpy(), "b": table["id"][1:].to_numpy()})
    graph = from_tables(table, friends, label="approved", sensitive="sex")
    scores = np.random.default_rng(7).random(len(table))
    few = {"self_people": 0, "affected_people": 0, "other_causal_models": False, "draws": 1}
    everyone = torch.arange(len(table))
    model = audit(lambda graph: scores, graph, nodes=everyone, **few)  # type: ignore[arg-type]
    found = audit(ScoresAdapter(scores), graph)
    for key in ("accuracy", "f1", "auroc", "delta_eo", "delta_dp", "r2"):
        assert found.metrics[key] == model.metrics[key]
        assert found.intervals[key] == model.intervals[key]
    for one, other in zip(found.groups, model.groups, strict=True):
        assert one.selection_rate == other.selection_rate
        for name, ends in one.intervals.items():
            assert ends == other.intervals[name] or name == "delta_cf"
    for name in ("y", "sens", "community", "around", "score", "label"):
        pd.testing.assert_series_equal(found.people[name], model.people[name])


@pytest.mark.parametrize("sensitive", ["race", "age", "age<40"])
@pytest.mark.parametrize("label", ["approved", "loan", "job"])
def test_attributes_and_labels_of_every_kind(sensitive: str, label: str) -> None:
    graph = people(sensitive=sensitive, label=label)
    count = graph.target.outputs
    scores = np.random.default_rng(1).dirichlet(np.ones(max(count, 2)), len(TABLE))
    found = audit(scores if count > 1 else scores[:, 1], graph)
    assert sum(row.count for row in found.groups) == len(TABLE)
    gap = "delta_mean" if graph.target.is_number else "delta_dp"
    assert 0 <= found.metrics[gap] < (9 if graph.target.is_number else 1)
    page = render_page(found)
    assert "Not measured: a file of scores" in page
    found.model_card()


def test_people_of_unknown_groups_have_ranges_and_bounds() -> None:
    table = TABLE.assign(sex=TABLE["sex"].where(np.arange(len(TABLE)) % 5 > 0))
    graph = from_tables(table, label="approved", sensitive="sex", linked=False)
    found = audit(SCORES, graph)
    assert found.unknown is not None
    assert found.unknown.completions == 5
    bounds, value = found.unknown.bounds["delta_dp"], found.metrics["delta_dp"]
    assert bounds.least <= value <= bounds.largest
    ends = found.unknown.ranges["delta_dp"]
    assert ends.low < ends.high


def test_a_part_of_the_people(graph: SensitiveGraph, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    some = pd.DataFrame({"id": TABLE["id"], "score": SCORES})[::3]
    some.to_csv(path, index=False)
    found = audit(path, graph, name="theirs")
    assert found.model.name == "theirs"
    assert found.people["node_name"].tolist() == TABLE["id"][::3].tolist()
    np.testing.assert_array_equal(found.people["score"], SCORES[::3])
    said = "334 of the 1,000 people have a score: the other 666 were not audited."
    assert said in found.notes
    with pytest.raises(FairgearError) as caught:
        audit(path, graph, nodes=torch.tensor([0, 1, 2, 3]))
    assert "got no score of 2 people, the first 'A0001'; allowed: " in str(caught.value)
    assert "leave --nodes out" in str(caught.value)


def test_thresholds_and_numbers_out_of_range(graph: SensitiveGraph) -> None:
    logits = np.log(SCORES / (1 - SCORES))
    with pytest.raises(FairgearError, match="0 to 1, unless a threshold is given"):
        audit(logits, graph)
    found, other = audit(logits, graph, threshold=0), audit(SCORES, graph)
    for key in ("accuracy", "f1", "auroc", "delta_eo", "delta_dp"):
        assert found.metrics[key] == other.metrics[key]
    assert audit(SCORES, graph, threshold=0.6).people["label"].sum() == (SCORES > 0.6).sum()


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (SCORES[1:], r"got scores of shape \(999,\)"),
        (np.where(SCORES > 0.9, np.nan, SCORES), "NaN or infinite scores, the first of node 'A0"),
        (np.array(["a"] * 1000), "holds no numbers"),
    ],
)
def test_arrays_that_are_no_scores(graph: SensitiveGraph, scores: np.ndarray, said: str) -> None:
    with pytest.raises(FairgearError, match=said):
        audit(scores, graph)


def test_one_adapter_can_be_asked_about_other_people(graph: SensitiveGraph, tmp_path: Path) -> None:
    pd.DataFrame({"id": TABLE["id"], "score": SCORES}).to_csv(tmp_path / "s.csv", index=False)
    adapter = adapt(tmp_path / "s.csv")
    first = audit(adapter, graph)
    fewer = from_tables(TABLE[:0:-1], label="approved", sensitive="sex", linked=False)
    with pytest.raises(FairgearError, match="got 1 ids of nobody, the first 'A0000'"):
        audit(adapter, fewer)
    order = torch.arange(len(TABLE)).flip(0)
    turned = audit(adapter, graph.permute(order))
    assert turned.metrics == pytest.approx(first.metrics, nan_ok=True)


def test_scores_matched_by_their_order_are_warned_of(
    graph: SensitiveGraph, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path, said = tmp_path / "s.csv", "they were matched to people by the order of the rows."
    table = pd.DataFrame({"id": TABLE["id"], "score": SCORES})
    table.to_csv(path, index=False)
    assert not any(said in caution for caution in headline(audit(path, graph)).cautions)
    assert said not in capfd.readouterr().err
    table[["score"]].to_csv(path, index=False)
    found = audit(path, graph)
    assert any(said in caution for caution in headline(found).cautions)
    assert capfd.readouterr().err.count(said) == 1
    shuffled = table.rename(columns={"id": "applicant"}).sample(frac=1, random_state=0)
    shuffled.to_csv(path, index=False)
    with pytest.raises(FairgearError, match="column 'applicant', which holds ids of these people"):
        audit(path, graph)


def test_answers_have_no_threshold(graph: SensitiveGraph, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    answers = pd.DataFrame({"id": TABLE["id"], "answer": TABLE["approved"]})
    answers.to_csv(path, index=False)
    assert audit(path, graph).metrics["accuracy"] == 1
    for threshold in (-1, 0.5, 2):
        with pytest.raises(FairgearError) as caught:
            audit(path, graph, threshold=threshold)
        said = str(caught.value)
        assert "got one beside answers; allowed: one beside scores. Next: leave the thresh" in said
    answers.assign(score=SCORES).to_csv(path, index=False)
    assert audit(path, graph, threshold=0.6).people["label"].sum() == (SCORES > 0.6).sum()


def test_two_files_of_scores_are_compared(graph: SensitiveGraph) -> None:
    first, second = audit(SCORES, graph, name="a"), audit(1 - SCORES, graph, name="b")
    rows = {row.metric: row for row in first.compare(second).rows}
    assert rows["accuracy"].first == first.metrics["accuracy"]
    assert rows["accuracy"].second == second.metrics["accuracy"]


def test_worlds_that_were_made_are_not_asked(graph: SensitiveGraph) -> None:
    worlds = Worlds(graph)
    found = audit(SCORES, worlds)
    assert found.setup.causal_model is None
    assert "strict" not in vars(worlds)


def test_a_model_on_people_alone_says_what_is_missing() -> None:
    """A function may be asked about them too; without features there is no other world."""
    graph = people(sensitive="race")
    found = audit(lambda graph: SCORES, graph, nodes=torch.arange(len(TABLE)))
    assert math.isnan(found.metrics["delta_cf"])
    said = "Counterfactual metrics are undefined without a causal model: people have no features."
    assert said in found.notes
