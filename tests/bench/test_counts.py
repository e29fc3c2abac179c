"""What benchmarks say work needs, against torch's own count of operations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from fairgear.bench import counts
from fairgear.bench.gear_case import gear_task
from fairgear.bench.roofline import BANDWIDTH, GEMM, RANDOM, bound
from fairgear.bench.scene import Pool
from fairgear.bench.slopes import slope
from fairgear.bench.vae_case import vae_task
from fairgear.methods.gear_config import GearConfig, GeneratorConfig
from fairgear.nn.layers import SageLayer

CPU = torch.device("cpu")


def added(total: list[int], left: list[int], right: list[int], **_: object) -> int:
    return 2 * left[0] * left[1] * right[1]


def operations(work: Callable[[], object]) -> int:
    # torch counts no product that is added to a matrix in place.
    with FlopCounterMode(display=False, custom_mapping={torch.ops.aten.addmm_: added}) as counter:
        work()
    return int(counter.get_total_flops())


@pytest.fixture
def plain_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """GraphSAGE as PyG writes it, without what fairgear adds to be faster."""

    def everyone(self: SageLayer, x: Tensor, adjacency: Tensor, mask: object = None) -> Tensor:
        out: Tensor = self.conv(x, adjacency)
        return out

    def centre(self: SageLayer, x: Tensor, adjacency: Tensor) -> Tensor:
        row = adjacency[:, :1]
        mean = torch.bmm(row, x)[:, 0] / row.sum(dim=-1).clamp(min=1)
        out: Tensor = self.conv.lin_rel(mean) + self.conv.lin_root(x[:, 0])
        return out

    # Two layers as one operation would pass by both.
    monkeypatch.setattr("fairgear.nn.fused.available", lambda inputs: False)
    monkeypatch.setattr(SageLayer, "forward", everyone)
    monkeypatch.setattr(SageLayer, "centre", centre)


def step_needs(pool: Pool, config: GearConfig, layers: int) -> counts.Needs:
    vae = config.generator
    return counts.step(
        batch=int(config.batch_size or 0),
        k=20,
        f=pool.features,
        seen=pool.features + int(config.use_sens),
        w=config.dim,
        layers=layers,
        draws=config.neighbor_draws,
        h=vae.hidden,
        latent=vae.latent,
    )


@pytest.mark.usefixtures("plain_layers")
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("use_sens", [True, False])
def test_operations_of_a_training_step(pool: Pool, layers: int, use_sens: bool) -> None:
    config = GearConfig.paper(dim=24, layers=layers, batch_size=10, use_sens=use_sens)
    found = operations(lambda: gear_task(pool, config, CPU).step(0))
    assert step_needs(pool, config, layers).operations == found


@pytest.mark.usefixtures("plain_layers")
def test_operations_of_a_step_of_the_vae(pool: Pool) -> None:
    config = GeneratorConfig(batch_size=10)
    found = operations(lambda: vae_task(pool, config, CPU).step(0))
    counted = counts.vae_step(
        10, 20, pool.features, config.hidden, config.latent, config.ranges
    ).operations
    # torch also makes gradients of the discriminator's weights in the turn that is not its own.
    unneeded = counts.linear(200, config.latent, config.hidden)
    unneeded += counts.linear(10, config.hidden, config.hidden + config.ranges)
    assert counted == found - unneeded


@pytest.mark.usefixtures("plain_layers")
def test_operations_of_representations(pool: Pool) -> None:
    config = GearConfig.paper(dim=24)
    network, egos = gear_task(pool, config, CPU).network.eval(), pool.egos(CPU)
    found = operations(lambda: network(egos(torch.arange(7))))
    assert counts.embedding(7, 20, pool.features + 1, 24, 2).operations == found


def test_a_step_does_little_more_than_it_needs(pool: Pool) -> None:
    config = GearConfig.paper(dim=64, batch_size=10)
    found = operations(lambda: gear_task(pool, config, CPU).step(0))
    assert 1 <= found / step_needs(pool, config, 2).operations < 1.3


def test_needs_add_up_and_multiply() -> None:
    one, two = counts.Needs(1, 2, 3), counts.Needs(10, 20, 30)
    assert one + two == counts.Needs(11, 22, 33)
    assert two * 0.5 == counts.Needs(5, 10, 15)


def test_features_that_fill_a_line_and_one_more() -> None:
    assert counts.gathers(1, 1, 16) == 1
    assert counts.gathers(3, 20, 17) == 3 * 20 * 2


def test_the_slowest_limit_is_the_one_that_applies() -> None:
    rates = {GEMM: 100.0, BANDWIDTH: 10.0, RANDOM: 1.0}
    row = {"operations": 100.0, "bytes": 20.0, "accesses": 0.5, "seconds": 8.0}
    assert bound(row, rates) == (BANDWIDTH, 0.25)
    assert bound({**row, "accesses": 4.0}, rates) == (RANDOM, 0.5)
    assert bound({"seconds": 8.0}, rates) is None
    assert bound(row, {}) is None


@given(
    st.lists(st.floats(10, 1e7), min_size=2, max_size=8, unique=True),
    st.floats(-2, 3),
    st.integers(0, 1000),
)
def test_the_slope_is_that_of_least_squares(sizes: list[float], power: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    costs = [n**power * float(np.exp(random.normal())) for n in sizes]
    found = slope(sizes, costs)
    assert found is not None
    expected = np.polyfit(np.log(sizes), np.log(costs), 1)[0]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_a_single_size_has_no_slope() -> None:
    assert slope([10, 10], [1.0, 2.0]) is None
    assert slope([10, 100], [1.0, 0.0]) is None
