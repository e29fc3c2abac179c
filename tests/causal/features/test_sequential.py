"""Conditional ranks on people whose other world is known."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from fairgear.causal.diagram import Diagram
from fairgear.causal.features import Columns, FeatureModel, FeatureSequential
from fairgear.errors import ParameterError
from tests.causal.features.people import Floats, Integers

N = 4000
NAMES = ("age", "skill", "income", "job=a", "job=b", "job=c", "grade", "spend", "sex")
COLUMNS = Columns(NAMES, 8, ((3, 4, 5),), ("job",))
PARENTS = {
    "skill": ["age", "sex"],
    "income": ["skill"],
    "job": ["skill", "sex"],
    "grade": ["income", "sex"],
    "spend": ["income", "job"],
}


@cache
def people() -> tuple[Floats, Floats, Integers, torch.Tensor]:
    """Everybody, and everybody in the other group: linear, curved, a category and grades 0 to 4."""
    rng = np.random.default_rng(0)
    sens, age = rng.integers(0, 2, N), rng.normal(size=N)
    noise, latent = rng.normal(size=(3, N)), rng.random((2, N))

    def world(s: Integers) -> Floats:
        skill = 0.5 * age + 1.5 * s + noise[0]
        income = skill + 0.3 * skill**2 + 0.5 * noise[1]
        first = 1 / (1 + np.exp(-(skill - s)))
        job = np.where(latent[0] < 0.6 * first, 0, np.where(latent[0] < 0.8, 1, 2))
        grade = np.floor(5 / (1 + np.exp(-(0.5 * income - 1 + s + 1.5 * (2 * latent[1] - 1)))))
        spend = 2 * income + 3 * (job == 1) + noise[2]
        jobs = [(job == k).astype(float) for k in range(3)]
        return np.stack([age, skill, income, *jobs, grade, spend, s.astype(float)], axis=1)

    return world(sens), world(1 - sens), sens, torch.arange(N)


def moved(model: FeatureModel) -> Floats:
    table, _, sens, ids = people()
    return model.fit(table, sens, COLUMNS).moved(table, sens, 1 - sens, ids, seed=0)


def error(found: Floats, name: str) -> float:
    """How far the groups' means are from those of the other world, as a share of the shift."""
    table, truth, sens, _ = people()
    k, worst = NAMES.index(name), 0.0
    for group in (sens == 0, sens == 1):
        shift = (truth[group, k] - table[group, k]).mean()
        worst = max(worst, abs((found[group, k] - truth[group, k]).mean() / shift))
    return worst


@pytest.mark.parametrize("conditional", ["additive", "forest"])
def test_the_right_diagram_recovers_the_other_world(conditional: str) -> None:
    table, truth, sens, _ = people()
    found = moved(FeatureSequential(diagram=Diagram(PARENTS), conditional=conditional))
    assert np.array_equal(found[:, 0], table[:, 0])
    for name in ("skill", "income", "spend", "grade"):
        assert error(found, name) < 0.1, name
    # Person by person, where no draw decides; a forest's steps are coarser.
    slack = {"additive": 0.1, "forest": 0.25}[conditional]
    for k in (NAMES.index("skill"), NAMES.index("income")):
        shift = np.abs(truth[:, k] - table[:, k]).mean()
        assert np.abs(found[:, k] - truth[:, k]).mean() < slack * shift
    for group in (sens == 0, sens == 1):
        got, expected = (world[group][:, 3:6].mean(axis=0) for world in (found, truth))
        assert np.allclose(got, expected, atol=0.03 if conditional == "additive" else 0.06)


def test_a_missing_parent_leaves_its_effect_behind() -> None:
    """Spending follows from income; without that arrow, it is far from the truth."""
    without = {**PARENTS, "spend": ["job"]}
    assert error(moved(FeatureSequential(diagram=Diagram(without))), "spend") > 0.5
    stays = {name: of for name, of in PARENTS.items() if name != "grade"}
    found = moved(FeatureSequential(diagram=Diagram(stays)))
    assert np.array_equal(found[:, 6], people()[0][:, 6])


def test_what_resolves_stops_what_follows_from_it() -> None:
    table, truth, _, _ = people()
    model = FeatureSequential(diagram=Diagram(PARENTS, resolving=["income"]))
    found = moved(model)
    assert np.array_equal(found[:, 2], table[:, 2])
    spend, job = NAMES.index("spend"), [3, 4, 5]
    same_job = (found[:, job] == table[:, job]).all(axis=1)
    # Only the job is left to change what is spent.
    assert np.allclose(found[same_job, spend], table[same_job, spend])
    assert not np.allclose(truth[same_job, spend], table[same_job, spend])


def test_the_order_of_columns_is_a_diagram() -> None:
    order = ["age", "skill", "income", "job", "grade", "spend"]
    full = Diagram({name: ["sex", *order[:k]] for k, name in enumerate(order)})
    assert np.array_equal(moved(FeatureSequential()), moved(FeatureSequential(diagram=full)))


def test_laws_are_estimated_in_known_ways() -> None:
    with pytest.raises(ParameterError, match="additive, forest"):
        FeatureSequential(conditional="kernel")


@pytest.mark.parametrize("given", [{}, {"conditional": "forest"}, {"diagram": Diagram(PARENTS)}])
def test_one_row_alone_and_state(given: dict[str, Any]) -> None:
    table, _, sens, ids = people()
    table, sens, ids = table[:700], sens[:700], ids[:700]
    model = FeatureSequential(**given).fit(table, sens, COLUMNS)
    again = FeatureModel.from_state(*model.state())
    everybody = model.moved(table, sens, 1 - sens, ids, seed=1)
    assert np.array_equal(again.moved(table, sens, 1 - sens, ids, seed=1), everybody)
    for row in range(0, 700, 70):
        one = slice(row, row + 1)
        alone = model.moved(table[one], sens[one], 1 - sens[one], ids[one], seed=1)
        assert np.array_equal(alone[0], everybody[row])


def test_parents_of_few_values_leave_nothing_to_the_others_moved() -> None:
    """Many people have the same index then, and bins of it must not overlap by rounding."""
    rng = np.random.default_rng(5)
    sens = rng.integers(0, 2, N)
    binary = (rng.random((N, 3)) < 0.3 + 0.2 * sens[:, None]).astype(float)
    count = rng.poisson(2 + binary.sum(axis=1) + sens).clip(0, 9)
    table, ids = np.column_stack([binary, count]), torch.arange(N)
    model = FeatureSequential().fit(table, sens, Columns.unnamed(4))
    everybody = model.moved(table, sens, 1 - sens, ids, seed=0)
    for row in range(0, N, 50):
        one = slice(row, row + 1)
        alone = model.moved(table[one], sens[one], 1 - sens[one], ids[one], seed=0)
        assert np.array_equal(alone[0], everybody[row])
    middles = model._laws["column 3"].middles  # type: ignore[union-attr]
    assert (np.diff(middles) >= 0).all()
    assert everybody[sens == 0, 3].mean() == pytest.approx(table[sens == 1, 3].mean(), rel=0.03)
