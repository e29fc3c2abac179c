from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, distributions

from fairgear.nn import objectives
from tests.nn.ego_batches import padded, random_egos


def test_gaussian_nll_is_minus_the_log_density_of_real_members() -> None:
    ego = random_egos()
    torch.manual_seed(0)
    mean, log_variance = torch.randn_like(ego.x), torch.randn(5)
    normal = distributions.Normal(mean, (0.5 * log_variance).exp())
    expected = -normal.log_prob(ego.x).sum(dim=-1)[ego.mask].mean()  # type: ignore[no-untyped-call]
    got = objectives.gaussian_nll(ego.x, mean, log_variance, ego.mask)
    assert float(got) == pytest.approx(float(expected), rel=1e-5)


def test_normal_kl_is_torchs() -> None:
    ego = random_egos()
    torch.manual_seed(0)
    mean, log_variance = torch.randn(6, 8, 3), torch.randn(6, 8, 3)
    posterior = distributions.Normal(mean, (0.5 * log_variance).exp())
    prior = distributions.Normal(torch.zeros(3), torch.ones(3))
    kl = distributions.kl_divergence(posterior, prior)
    expected = kl.sum(dim=-1)[ego.mask].mean()
    got = objectives.normal_kl(mean, log_variance, ego.mask)
    assert float(got) == pytest.approx(float(expected), rel=1e-5)
    zero = torch.zeros(6, 8, 3)
    assert float(objectives.normal_kl(zero, zero, ego.mask)) == 0


def test_edge_nll_counts_each_pair_of_real_members_once() -> None:
    ego = random_egos()
    torch.manual_seed(0)
    logits = torch.randn(6, 8, 8)
    logits = logits + logits.transpose(1, 2)
    total, members = 0.0, 0
    for row in range(len(ego)):
        size = int(ego.mask[row].sum())
        members += size
        for i in range(size):
            for j in range(i):
                p = 1 / (1 + math.exp(-float(logits[row, i, j])))
                total -= math.log(p if ego.adjacency[row, i, j] else 1 - p)
    got = objectives.edge_nll(ego.adjacency, logits, ego.mask)
    assert float(got) == pytest.approx(total / members, rel=1e-5)


def test_more_padding_changes_no_objective() -> None:
    ego, more = random_egos(), padded(random_egos())
    values: list[list[Tensor]] = []
    for each in (ego, more):
        draw = torch.Generator().manual_seed(0)
        garbage = torch.full((*each.mask.shape, 3), 50.0)
        garbage[each.mask] = torch.randn(int(each.mask.sum()), 3, generator=draw)
        logits = torch.full(each.adjacency.shape, 50.0)
        logits[:, :8, :8] = torch.randn(6, 8, 8, generator=draw)
        values.append(
            [
                objectives.gaussian_nll(garbage, 0.5 * garbage, torch.zeros(3), each.mask),
                objectives.normal_kl(garbage, garbage.sin(), each.mask),
                objectives.edge_nll(each.adjacency, logits, each.mask),
                objectives.cross_covariance(garbage, each.sens, each.mask),
                objectives.sensitive_range(each.sens, each.mask, 4),
            ]
        )
    for one, other in zip(*values, strict=True):
        assert torch.allclose(one, other, rtol=1e-5)


@given(seed=st.integers(0, 2**31), scale=st.floats(1e-2, 1e3))
def test_cosine_distance_is_from_0_to_2_and_ignores_length(seed: int, scale: float) -> None:
    draw = torch.Generator().manual_seed(seed)
    one, other = torch.randn(2, 4, 6, generator=draw)
    assert -1e-6 <= float(objectives.cosine_distance(one, other)) <= 2 + 1e-6
    assert float(objectives.cosine_distance(one, scale * one)) == pytest.approx(0, abs=1e-5)
    assert float(objectives.cosine_distance(one, -scale * one)) == pytest.approx(2, abs=1e-5)
    dot = np.diag(one.numpy() @ other.numpy().T)
    lengths = np.linalg.norm(one.numpy(), axis=1) * np.linalg.norm(other.numpy(), axis=1)
    expected = float((1 - dot / lengths).mean())
    assert float(objectives.cosine_distance(one, other)) == pytest.approx(expected, abs=1e-5)


def test_boundary_inconsistency_forgets_what_is_far_from_the_boundary() -> None:
    one, other = torch.tensor([0.5, 9.0, -0.1]), torch.tensor([-0.5, 12.0, 0.1])
    expected = np.mean((np.tanh(one.numpy()) - np.tanh(other.numpy())) ** 2)
    assert float(objectives.boundary_inconsistency(one, other)) == pytest.approx(float(expected))
    far = float(objectives.boundary_inconsistency(one[1:2], other[1:2]))
    assert far < 1e-6 < float(objectives.logit_inconsistency(one[1:2], other[1:2]))


@given(st.integers(3, 200), st.integers(0, 10**6))
def test_dependence_is_the_squared_correlation_of_soft_labels(size: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    logits, summary = 3 * drawn.normal(size=size), drawn.uniform(size=size)
    got = objectives.dependence(torch.from_numpy(logits), torch.from_numpy(summary))
    expected = np.corrcoef(np.tanh(logits), summary)[0, 1] ** 2
    assert float(got) == pytest.approx(expected, abs=2e-3)
    labels = logits > np.median(logits)
    got = objectives.explained(torch.from_numpy(labels), torch.from_numpy(summary))
    assert float(got) == pytest.approx(np.corrcoef(labels, summary)[0, 1] ** 2, abs=2e-3)


def test_dependence_of_a_constant_is_nothing_and_has_a_gradient() -> None:
    logits = torch.zeros(5, requires_grad=True)
    value = objectives.dependence(logits, torch.linspace(0, 1, 5))
    assert float(value.detach()) == 0
    (gradient,) = torch.autograd.grad(value, logits)
    assert gradient.isfinite().all()


def test_logit_inconsistency_is_the_mean_squared_difference() -> None:
    one, other = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 4.0], [0.0, 2.0]])
    assert float(objectives.logit_inconsistency(one[None], other)) == pytest.approx(5 / 4)


def test_log_probability_is_that_of_the_true_class() -> None:
    torch.manual_seed(0)
    logits, target = torch.randn(9, 4), torch.randint(0, 4, (9,))
    expected = logits.log_softmax(dim=1).gather(1, target[:, None]).mean()
    got = objectives.log_probability(logits, target)
    assert float(got) == pytest.approx(float(expected), rel=1e-5)
    assert float(got) < 0


def test_cross_covariance_sums_squared_correlations_over_real_members() -> None:
    ego = random_egos(batch=30)
    torch.manual_seed(0)
    h = torch.randn(30, 8, 3)
    h[..., 1] += 2 * ego.sens
    s = ego.sens[ego.mask].numpy()
    expected = sum(np.corrcoef(column, s)[0, 1] ** 2 for column in h[ego.mask].numpy().T)
    got = objectives.cross_covariance(h, ego.sens, ego.mask)
    assert float(got) == pytest.approx(expected, rel=1e-4)
    assert float(objectives.cross_covariance(0.1 * h, ego.sens, ego.mask)) == pytest.approx(
        expected, rel=1e-2
    )
    assert float(objectives.cross_covariance(h, 0 * ego.sens, ego.mask)) == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 0, 0], 0),
        ([1, 1, 1, 1], 3),
        ([1, 0, 0, 0], 1),
        ([1, 1, 0, 0], 2),
        ([1, 1, 1, 0], 3),
        ([1, 0, 0, 0, 0], 0),
        ([0], 0),
        ([1], 3),
    ],
)
def test_a_range_holds_its_lower_end_and_the_last_also_its_upper(
    values: list[int], expected: int
) -> None:
    sens = torch.tensor([values + [0] * 3])
    mask = torch.tensor([[True] * len(values) + [False] * 3])
    assert objectives.sensitive_range(sens, mask, 4).tolist() == [expected]


@given(ranges=st.integers(2, 64), size=st.integers(1, 64), ones=st.integers(0, 64))
def test_ranges_are_exact_whatever_rounding_does(ranges: int, size: int, ones: int) -> None:
    ones = min(ones, size)
    sens = torch.tensor([[1] * ones + [0] * (size - ones)])
    mask = torch.ones(1, size, dtype=torch.bool)
    expected = min(ones * ranges // size, ranges - 1)
    assert objectives.sensitive_range(sens, mask, ranges).tolist() == [expected]


def test_weighted_names_its_terms_and_sums_them() -> None:
    parts = {"a": torch.tensor(2.0), "b": torch.tensor(3.0), "c": torch.tensor(5.0)}
    terms = objectives.weighted(parts, {"a": 10.0, "c": 0.0, "unused": 7.0})
    assert float(terms.total) == pytest.approx(10 * 2 + 3)
    assert {name: float(value) for name, value in terms.parts.items()} == {"a": 2, "b": 3, "c": 5}


def test_cross_covariance_of_several_values_is_the_r2_of_each_dimension_on_all_of_them() -> None:
    ego, h = random_egos(batch=60), torch.randn(60, 8, 3)
    group = torch.randint(4, (60, 8), generator=torch.Generator().manual_seed(1))
    h[..., 1] += group == 2
    code = (group[..., None] == torch.arange(1, 4)).float()
    got = objectives.cross_covariance(h, code, ego.mask)
    values, known = h[ego.mask].numpy(), group[ego.mask].numpy()
    expected = 0.0
    for column in values.T:
        # The R² of a regression on indicators is the share between groups.
        fitted = np.array([column[known == one].mean() for one in range(4)])[known]
        expected += np.var(fitted) / np.var(column)
    assert float(got) == pytest.approx(expected, rel=1e-3)
    alone = objectives.cross_covariance(h, code[..., :1], ego.mask)
    one = objectives.cross_covariance(h, code[..., 0], ego.mask)
    assert float(alone) == pytest.approx(float(one), rel=1e-3)


def test_log_probability_of_several_targets_is_that_of_all_of_them() -> None:
    torch.manual_seed(0)
    logits, target = torch.randn(9, 3, 4), torch.randint(0, 4, (9, 3))
    alone = [objectives.log_probability(logits[:, j], target[:, j]) for j in range(3)]
    got = objectives.log_probability(logits, target)
    assert float(got) == pytest.approx(float(torch.stack(alone).sum()), rel=1e-5)


def test_edge_nll_of_arcs_counts_each_ordered_pair_once() -> None:
    ego = random_egos()
    torch.manual_seed(0)
    logits, adjacency = torch.randn(6, 8, 8), (torch.rand(6, 8, 8) < 0.4).float()
    total = 0.0
    for row in range(len(ego)):
        size = int(ego.mask[row].sum())
        for i in range(size):
            for j in set(range(size)) - {i}:
                p = 1 / (1 + math.exp(-float(logits[row, i, j])))
                total -= math.log(p if adjacency[row, i, j] else 1 - p)
    got = objectives.edge_nll(adjacency, logits, ego.mask, directed=True)
    assert float(got) == pytest.approx(total / int(ego.mask.sum()), rel=1e-5)


def test_ranges_of_several_groups_are_those_of_each_against_the_rest() -> None:
    ego = random_egos(batch=40)
    group = torch.randint(4, (40, 8), generator=torch.Generator().manual_seed(1)) * ego.mask
    code = group[..., None] == torch.arange(1, 4)
    got = objectives.sensitive_range(code, ego.mask[..., None], 5)
    assert got.shape == (40, 3)
    for one in range(3):
        alone = objectives.sensitive_range((group == one + 1).long(), ego.mask, 5)
        assert torch.equal(got[:, one], alone)


def test_ranges_of_a_number_are_equal_parts_of_what_the_means_span() -> None:
    ego, draw = random_egos(batch=200), torch.Generator().manual_seed(1)
    ages = (40 + 10 * torch.randn(200, 8, generator=draw, dtype=torch.float64)) * ego.mask
    means = np.array(
        [row[mask].mean() for row, mask in zip(ages.numpy(), ego.mask.numpy(), strict=True)]
    )
    np.testing.assert_allclose(objectives.mean_of_members(ages, ego.mask), means)
    ends = torch.tensor([means.min(), means.max()])
    got = objectives.mean_range(ages, ego.mask, 4, ends).numpy()
    cuts = np.linspace(means.min(), means.max(), 5)[1:-1]
    assert np.array_equal(got, np.searchsorted(cuts, means, side="right"))
    assert set(got) == {0, 1, 2, 3}
    # Other graphs may go beyond, and the same mean for all is one range.
    assert set(objectives.mean_range(10 * ages, ego.mask, 4, ends).tolist()) == {3}
    same = objectives.mean_of_members(ages[:1], ego.mask[:1]).repeat(2)
    assert objectives.mean_range(ages[:1], ego.mask[:1], 4, same).tolist() == [0]
