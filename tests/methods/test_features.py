from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear import SensitiveGraph
from fairgear.errors import GraphError
from fairgear.methods import features
from fairgear.methods.features import Erasure, FeatureScaler
from tests.graphs import random_graph


def with_column(graph: SensitiveGraph, at: int | None) -> SensitiveGraph:
    """The graph with its sensitive column moved to `at`, or left out."""
    others = graph.x[:, [0, 2, 3]]
    x = others
    if at is not None:
        x = torch.cat([others[:, :at], graph.sens[:, None].float(), others[:, at:]], dim=1)
    names = [f"f{i}" for i in range(x.shape[1])]
    return graph.replace(x=x, sens_column=at, feature_names=names)


def scaler_of(graph: SensitiveGraph) -> FeatureScaler:
    return FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph)


@pytest.mark.parametrize("at", [0, 1, 3, None])
def test_other_columns_are_scaled_and_the_sensitive_one_is_gone(at: int | None) -> None:
    graph = with_column(random_graph(n=50), at)
    others = graph.x.double().numpy()
    if at is not None:
        others = np.delete(others, at, axis=1)
    expected = (others - others.mean(axis=0)) / others.std(axis=0)
    scaled = scaler_of(graph)(graph)
    assert scaled.dtype == torch.float32
    np.testing.assert_allclose(scaled.numpy(), expected, atol=1e-5)


def test_a_constant_column_becomes_zero() -> None:
    graph = random_graph(n=50)
    x = graph.x.clone()
    x[:, 2] = 0.1
    graph = graph.replace(x=x)
    scaled = scaler_of(graph)(graph)
    assert torch.allclose(scaled[:, 1], torch.zeros(50), atol=1e-6)
    assert float(scaled[:, 0].std(correction=0)) == pytest.approx(1, abs=1e-4)


def test_what_was_learned_is_used_on_another_graph_and_saved_with_the_weights() -> None:
    one, other = random_graph(n=50), random_graph(n=40, seed=9)
    scaler = scaler_of(one)
    keep = [0, 2, 3]
    fitted = one.x.double().numpy()[:, keep]
    expected = (other.x.double().numpy()[:, keep] - fitted.mean(axis=0)) / fitted.std(axis=0)
    np.testing.assert_allclose(scaler(other).numpy(), expected, atol=1e-5)
    copy = FeatureScaler(4, 1)
    copy.load_state_dict(scaler.state_dict())
    assert torch.equal(copy(other), scaler(other))


def test_columns_other_than_the_fitted_ones_are_refused() -> None:
    graph = random_graph(n=50)
    scaler = scaler_of(graph)
    for other in (random_graph(n=50, d=5), with_column(graph, 0), with_column(graph, None)):
        with pytest.raises(GraphError, match=r"^[^\n]*allowed: 4 columns, sens_column 1[^\n]*$"):
            scaler(other)


def groups(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Correlated features, two groups, and the difference of their means."""
    draw = torch.Generator().manual_seed(seed)
    sens = torch.randint(0, 2, (400,), generator=draw)
    mixing = torch.randn(4, 4, generator=draw)
    shift = torch.tensor([2.0, -1.0, 0.5, 0.0])
    x = torch.randn(400, 4, generator=draw) @ mixing + sens[:, None] * shift
    return x, sens, x[sens == 1].mean(dim=0) - x[sens == 0].mean(dim=0)


def test_u_comes_from_the_covariance_within_groups() -> None:
    x, sens, v = groups()
    erasure = Erasure(4, 1.0).fit(x, sens)
    np.testing.assert_allclose(erasure.v.numpy(), v.numpy(), rtol=1e-5)
    values, s = x.double().numpy(), sens.numpy()
    within = sum(np.cov(values[s == g].T, bias=True) * (s == g).mean() for g in (0, 1))
    u = np.linalg.solve(within + 1e-3 * np.eye(4), v.numpy())
    np.testing.assert_allclose(erasure.u.numpy(), u / (u @ v.numpy()), rtol=1e-4, atol=1e-5)
    assert float(erasure.u @ erasure.v) == pytest.approx(1, abs=1e-5)


def test_moving_along_v_changes_nothing_that_is_left_and_erasing_again_neither() -> None:
    x, sens, shift = groups()
    erasure = Erasure(4, 1.0).fit(x, sens)
    erased = erasure(x, sens)
    assert torch.allclose(erasure(x + 3.7 * shift, sens), erased, atol=1e-4)
    assert torch.equal(erasure(x, 1 - sens), erased)
    assert torch.allclose(erasure(erased, sens), erased, atol=1e-4)
    assert not torch.allclose(erased, x, atol=0.1)
    batch = x.reshape(20, 20, 4)
    groups_of_batch = sens.reshape(20, 20)
    assert torch.allclose(erasure(batch, groups_of_batch), erased.reshape(20, 20, 4), atol=1e-5)


def test_without_a_share_everybody_is_brought_to_group_0() -> None:
    x, sens, shift = groups()
    undone = Erasure(4, 0.0).fit(x, sens)(x, sens)
    assert torch.allclose(undone, x - sens[:, None] * shift, atol=1e-5)
    # What the groups differ by is gone, what people differ by within them is not.
    assert torch.allclose(undone[sens == 1].mean(0), undone[sens == 0].mean(0), atol=1e-4)
    assert torch.equal(undone[sens == 0], x[sens == 0])


def test_half_a_share_goes_half_the_way() -> None:
    x, sens, _ = groups()
    whole, none = (Erasure(4, share).fit(x, sens)(x, sens) for share in (1.0, 0.0))
    half = Erasure(4, 0.5).fit(x, sens)(x, sens)
    assert torch.allclose(half, (none + whole) / 2, atol=1e-5)


@given(share=st.floats(0, 1), seed=st.integers(0, 2**16))
def test_whatever_the_share_nothing_changes_where_s_and_features_move_together(
    share: float, seed: int
) -> None:
    x, sens, shift = groups(seed)
    erasure = Erasure(4, share).fit(x, sens)
    other = torch.randint(0, 2, sens.shape, generator=torch.Generator().manual_seed(seed))
    moved = x + (other - sens)[:, None] * shift
    assert torch.allclose(erasure(moved, other), erasure(x, sens), atol=1e-3)


def test_without_a_shift_nothing_is_erased() -> None:
    x, _, _ = groups()
    twice, sens = torch.cat([x, x]), torch.arange(2).repeat_interleave(len(x))
    assert torch.equal(Erasure(4, 1.0).fit(twice, sens)(twice, sens), twice)


def test_columns_that_sum_to_a_constant_can_be_erased() -> None:
    x, sens, _ = groups()
    one_hot = torch.cat([x, (x[:, :1] > 0).float(), (x[:, :1] <= 0).float()], dim=1)
    erased = Erasure(6, 1.0).fit(one_hot, sens)
    assert bool(torch.isfinite(erased(one_hot, sens)).all())


def test_statistics_come_from_some_people_and_from_all_where_a_group_is_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(features, "STATISTICS", 40)
    monkeypatch.setattr(features, "FEWEST", 5)
    order, sens = torch.randperm(200), torch.arange(200) % 2
    asked = features.statistics_sample(order, sens)
    assert len(asked) == 40
    places = order.argsort()[asked]
    assert torch.equal(places, places.sort().values)
    rare = torch.zeros(200, dtype=torch.int64)
    rare[3] = 1
    assert torch.equal(features.statistics_sample(order, rare), order)
