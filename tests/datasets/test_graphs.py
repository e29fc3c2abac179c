"""The published graphs: counted as in Table 1 of the paper, and read against their files."""

from __future__ import annotations

import bz2
import csv
import os
import statistics as statistics_of_python
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_diabetes

from fairgear.datasets import DATASETS, statistics
from fairgear.graph import SensitiveGraph, SimilarityMechanism

TABLE_1 = {
    "bail": (18_876, 311_870, 162_821, 149_049, 18),
    "credit": (30_000, 137_377, 120_750, 16_627, 13),
    # The others are not in the paper: lists that were published with two of them, our own rule.
    "german": (1_000, 21_742, 17_498, 4_244, 27),
    "nba": (403, 10_621, 7_686, 2_935, 96),
    "meps": (10_391, 141_667, 104_999, 36_668, 23),
    "diabetes": (442, 10_555, 6_686, 3_869, 10),
}


def test_counts(published: SensitiveGraph) -> None:
    counted = statistics(published)
    assert (
        counted.nodes,
        counted.edges,
        counted.intra_group_edges,
        counted.inter_group_edges,
        counted.features,
    ) == TABLE_1[published.name]


def test_features_are_scaled_and_the_sensitive_column_is_not(published: SensitiveGraph) -> None:
    column = published.sens_column
    assert column is not None
    assert published.feature_names[column] == DATASETS[published.name].sensitive
    assert torch.equal(published.x[:, column], published.sens.float())
    others = torch.arange(published.x.shape[1]) != column
    lowest, highest = (f(published.x[:, others], dim=0).values for f in (torch.min, torch.max))
    assert (lowest == -1).all()
    assert (highest == 1).all()


def test_the_label_is_no_feature(published: SensitiveGraph) -> None:
    assert DATASETS[published.name].label not in published.feature_names
    assert set(published.y.tolist()) <= {-1, 0, 1}


@pytest.mark.parametrize(("name", "threshold"), [("bail", 0.6), ("credit", 0.7)])
def test_similarity_graphs_carry_the_table_as_published(
    name: str, threshold: float, request: pytest.FixtureRequest
) -> None:
    graph: SensitiveGraph = request.getfixturevalue(name)
    assert isinstance(graph.mechanism, SimilarityMechanism)
    assert graph.mechanism.rule.threshold == threshold
    assert graph.mechanism.rule.neighbors is None
    rows = list(records(f"{name}/{name}.csv"))
    expected = [[float(row[column]) for column in graph.feature_names] for row in rows]
    assert graph.raw is not None
    assert np.array_equal(graph.raw.numpy(), np.array(expected))
    assert graph.y.tolist() == [int(row[DATASETS[name].label]) for row in rows]
    assert graph.sens.tolist() == [int(row[DATASETS[name].sensitive]) for row in rows]
    assert graph.node_id.tolist() == list(range(len(rows)))


@pytest.mark.parametrize("name", ["bail", "credit", "meps", "diabetes"])
def test_edges_of_some_rows_by_brute_force(name: str, request: pytest.FixtureRequest) -> None:
    graph: SensitiveGraph = request.getfixturevalue(name)
    assert graph.raw is not None
    raw, threshold = graph.raw.numpy(), graph.mechanism.rule.threshold
    for row in (0, 17, len(raw) - 1):
        alike = 1 / (1 + np.sqrt(((raw - raw[row]) ** 2).sum(axis=1)))
        alike[row] = 0
        # The row's own choice; others may choose the row besides.
        chosen = set(np.flatnonzero(alike > threshold * alike.max()).tolist())
        joined = set(graph.edge_index[1, graph.edge_index[0] == row].tolist())
        assert chosen
        assert chosen <= joined
        for other in joined - chosen:
            theirs = 1 / (1 + np.sqrt(((raw - raw[other]) ** 2).sum(axis=1)))
            theirs[other] = 0
            assert theirs[row] > threshold * theirs.max()


def test_german_edges_are_the_lines_of_its_list(german: SensitiveGraph) -> None:
    lines = [[float(number) for number in line.split()] for line in text("german/german_edges.txt")]
    listed = {frozenset(map(int, pair)) for pair in lines}
    assert len(lines) == 24_970
    assert joined(german) == listed


def test_german_columns(german: SensitiveGraph) -> None:
    rows = list(records("german/german.csv"))
    assert german.sens.tolist() == [int(row["Gender"] == "Female") for row in rows]
    assert german.y.tolist() == [{"1": 1, "-1": 0}[row["GoodCustomer"]] for row in rows]
    assert [german.sens_names[one] for one in german.sens.tolist()] == [r["Gender"] for r in rows]
    assert german.label_names == ("no", "yes")
    assert {"OtherLoansAtStore", "PurposeOfLoan"}.isdisjoint(german.feature_names)


def test_nba_ids_are_exact_beyond_what_a_float_can_hold(nba: SensitiveGraph) -> None:
    expected = [int(row["user_id"]) for row in records("nba/nba.csv")]
    assert nba.node_id.tolist() == expected
    assert sum(node > 2**53 for node in expected) == 11
    assert "user_id" not in nba.feature_names


def test_every_line_of_the_nba_list_finds_both_ends(nba: SensitiveGraph) -> None:
    lines = [tuple(map(int, line.split())) for line in text("nba/nba_relationship.txt")]
    assert len(lines) == 16_570
    known = set(nba.node_id.tolist())
    assert all(end in known for line in lines for end in line)
    ids = nba.node_id.tolist()
    assert {frozenset(ids[row] for row in pair) for pair in joined(nba)} == {
        frozenset(line) for line in lines
    }


def test_nba_labels(nba: SensitiveGraph) -> None:
    assert nba.y.tolist() == [int(row["SALARY"]) for row in records("nba/nba.csv")]
    assert [int((nba.y == value).sum()) for value in (-1, 0, 1)] == [90, 154, 159]


def test_meps_is_its_file_row_by_row(meps: SensitiveGraph) -> None:
    with bz2.open(Path(os.environ["FAIRGEAR_DATA"], "meps/meps.csv.bz2"), "rt") as lines:
        rows = list(csv.DictReader(lines))
    values = {name: [float(row[name] or "nan") for row in rows] for name in rows[0]}
    median = statistics_of_python.median(values["drugexp"])
    assert meps.y.tolist() == [int(paid > median) for paid in values["drugexp"]]
    either = zip(values["black"], values["hisp"], strict=True)
    assert meps.sens.tolist() == [int(black + hispanic > 0) for black, hispanic in either]
    assert meps.node_id.tolist() == list(range(len(rows)))
    shown = {name: meps.x[:, place] for place, name in enumerate(meps.feature_names)}
    for level, name in (("health=good", "good"), ("income_group=low", "lowincome")):
        assert ((shown[level] == 1) == (torch.tensor(values[name]) == 1)).all()
    for group in ("health=", "income_group="):
        held = torch.stack([x for name, x in shown.items() if name.startswith(group)])
        assert ((held == 1).sum(dim=0) == 1).all()
    for name in ("income", "totchr", "firmsz"):
        known = torch.tensor(values[name], dtype=torch.float64)
        scaled = 2 * (known - known.min()) / (known.max() - known.min()) - 1
        assert torch.allclose(shown[name].double(), scaled, atol=1e-6)
    gone = {"drugexp", "ldrugexp", "black", "hisp", "age2", "linc", "vgh", "fph"}
    assert gone.isdisjoint(meps.feature_names)


def test_expenses_are_the_same_people_in_three_groups(
    meps: SensitiveGraph, expenses: SensitiveGraph
) -> None:
    with bz2.open(Path(os.environ["FAIRGEAR_DATA"], "meps/meps.csv.bz2"), "rt") as lines:
        rows = list(csv.DictReader(lines))
    assert expenses.attributes is not None
    names = [expenses.attributes.names[group] for group in expenses.sens]
    for row, name in zip(rows, names, strict=True):
        black, hispanic = float(row["black"]), float(row["hisp"])
        assert name == ("Hispanic" if hispanic else "Black" if black else "other")
    assert expenses.y.tolist() == [float(row["ldrugexp"]) for row in rows]
    assert expenses.target.kind == "regression"
    assert set(meps.feature_names) == {*expenses.feature_names, "blhisp"}


def test_diabetes_needs_no_file(diabetes: SensitiveGraph) -> None:
    data, target = load_diabetes(return_X_y=True, scaled=False)
    assert diabetes.sens.tolist() == [int(value == 2) for value in data[:, 1]]
    assert diabetes.y.tolist() == [int(value > 140.5) for value in target]
    assert diabetes.raw is not None
    spread = (data - data.mean(axis=0)) / data.std(axis=0)
    spread[:, 1] = data[:, 1] - 1
    assert np.allclose(diabetes.raw.numpy(), spread)
    assert not DATASETS["diabetes"].files


def joined(graph: SensitiveGraph) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in graph.edge_index.T.tolist()}


def text(path: str) -> list[str]:
    return Path(os.environ["FAIRGEAR_DATA"], path).read_text().splitlines()


def records(path: str) -> Iterator[dict[str, str]]:
    return csv.DictReader(text(path))
