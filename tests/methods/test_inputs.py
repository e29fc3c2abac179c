from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.errors import GraphError
from fairgear.methods.inputs import Erasure, FeatureScaler
from tests.graphs import random_graph


def with_column(graph: SensitiveGraph, at: int | None) -> SensitiveGraph:
    """The graph with its sensitive column moved to `at`, or left out."""
    others = graph.x[:, [0, 2, 3]]
    x = others
    if at is not None:
        x = torch.cat([others[:, :at], graph.sens[:, None].float(), others[:, at:]], dim=1)
    names = [f"f{i}" for i in range(x.shape[1])]
    return graph.replace(x=x, sens_column=at, feature_names=names)


def scaler_of(graph: SensitiveGraph, *, normalize_rows: bool = False) -> FeatureScaler:
    width = graph.x.shape[1] - (graph.sens_column is not None)
    return FeatureScaler(width, graph.sens_column, normalize_rows=normalize_rows).fit(graph)


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
    copy = FeatureScaler(3, 1, normalize_rows=False)
    copy.load_state_dict(scaler.state_dict())
    assert torch.equal(copy(other), scaler(other))


def test_columns_other_than_the_fitted_ones_are_refused() -> None:
    graph = random_graph(n=50)
    scaler = scaler_of(graph)
    for other in (random_graph(n=50, d=5), with_column(graph, 0), with_column(graph, None)):
        with pytest.raises(GraphError, match=r"^[^\n]*allowed: 4 columns, sens_column 1[^\n]*$"):
            scaler(other)


def test_rows_of_unit_length_forget_a_common_factor() -> None:
    graph = random_graph(n=50)
    rows = graph.x.double().numpy()[:, [0, 2, 3]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scaler = scaler_of(graph, normalize_rows=True)
    np.testing.assert_allclose(
        scaler(graph).numpy(), (rows - rows.mean(axis=0)) / rows.std(axis=0), atol=1e-5
    )
    x = 0.95 * graph.x
    x[:, 1] = graph.x[:, 1]
    assert torch.allclose(scaler(graph.replace(x=x)), scaler(graph), atol=1e-5)


def test_a_row_of_zeros_has_no_length_and_stays_finite() -> None:
    graph = random_graph(n=50)
    x = graph.x.clone()
    x[3] = 0
    x[3, 1] = graph.sens[3]
    graph = graph.replace(x=x)
    assert bool(torch.isfinite(scaler_of(graph, normalize_rows=True)(graph)).all())


def groups(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Correlated features, two groups with different means, and the shift between these."""
    draw = torch.Generator().manual_seed(seed)
    sens = torch.randint(0, 2, (400,), generator=draw)
    mixing = torch.randn(4, 4, generator=draw)
    shift = torch.tensor([2.0, -1.0, 0.5, 0.0])
    x = torch.randn(400, 4, generator=draw) @ mixing + sens[:, None] * shift
    return x, sens, shift


def test_u_comes_from_the_covariance_within_groups() -> None:
    x, sens, shift = groups()
    # Far apart, and erased along another direction: the covariance across groups differs.
    x, v = x + 9 * sens[:, None] * shift, torch.tensor([0.0, 1.0, 1.0, 0.0])
    erasure = Erasure(4, 1.0).fit(x, sens, v)
    values, s = x.double().numpy(), sens.numpy()
    within = sum(np.cov(values[s == g].T, bias=True) * (s == g).mean() for g in (0, 1))
    across = np.cov(values.T, bias=True)
    u, wrong = (np.linalg.solve(part + 1e-3 * np.eye(4), v.numpy()) for part in (within, across))
    np.testing.assert_allclose(erasure.u.numpy(), u / (u @ v.numpy()), rtol=1e-4, atol=1e-5)
    assert np.abs(erasure.u.numpy() - wrong / (wrong @ v.numpy())).max() > 1e-2
    assert float(erasure.u @ erasure.v) == pytest.approx(1, abs=1e-5)


def test_moving_along_v_changes_nothing_that_is_left_and_erasing_again_neither() -> None:
    x, sens, shift = groups()
    erasure = Erasure(4, 1.0).fit(x, sens, shift)
    erased = erasure(x)
    assert torch.allclose(erasure(x + 3.7 * shift), erased, atol=1e-4)
    assert torch.allclose(erasure(erased), erased, atol=1e-4)
    assert not torch.allclose(erased, x, atol=0.1)
    batch = x.reshape(20, 20, 4)
    assert torch.allclose(erasure(batch), erased.reshape(20, 20, 4), atol=1e-5)


def test_half_a_share_goes_half_the_way() -> None:
    x, sens, shift = groups()
    whole = Erasure(4, 1.0).fit(x, sens, shift)(x)
    half = Erasure(4, 0.5).fit(x, sens, shift)(x)
    assert torch.allclose(half, (x + whole) / 2, atol=1e-5)


def test_without_a_shift_nothing_is_erased() -> None:
    x, sens, _ = groups()
    assert torch.equal(Erasure(4, 1.0).fit(x, sens, torch.zeros(4))(x), x)


def test_columns_that_sum_to_a_constant_can_be_erased() -> None:
    x, sens, shift = groups()
    one_hot = torch.cat([x, (x[:, :1] > 0).float(), (x[:, :1] <= 0).float()], dim=1)
    erased = Erasure(6, 1.0).fit(one_hot, sens, torch.cat([shift, torch.tensor([0.1, -0.1])]))
    assert bool(torch.isfinite(erased(one_hot)).all())
