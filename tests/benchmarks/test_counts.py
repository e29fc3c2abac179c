"""What benchmarks say work needs, against torch's own count of operations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.bench import counts
from benchmarks.bench.steps import Pool, gear_task, vae_task
from fairgear.methods.gear_paper.config import GearPaperConfig, VaeConfig
from fairgear.nn.encoders import EgoEncoder, SageEncoder
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
    monkeypatch.setattr(SageEncoder, "forward", EgoEncoder.forward)
    monkeypatch.setattr(SageLayer, "forward", everyone)
    monkeypatch.setattr(SageLayer, "centre", centre)


def step_needs(pool: Pool, config: GearPaperConfig, layers: int) -> counts.Needs:
    vae = config.generator
    return counts.step(
        batch=config.batch_size,
        k=20,
        f=pool.features,
        seen=pool.features + 1,
        w=config.dim,
        layers=layers,
        draws=config.neighbor_draws,
        h=vae.hidden,
        latent=vae.latent,
    )


@pytest.mark.usefixtures("plain_layers")
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_operations_of_a_training_step(
    pool: Pool, layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.methods.gear_paper.network.LAYERS", layers)
    config = GearPaperConfig(dim=24, batch_size=10)
    found = operations(lambda: gear_task(pool, config, CPU).step(0))
    assert step_needs(pool, config, layers).operations == found


@pytest.mark.usefixtures("plain_layers")
def test_operations_of_a_step_of_the_vae(pool: Pool) -> None:
    config = VaeConfig(batch_size=10)
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
    config = GearPaperConfig(dim=24)
    network, egos = gear_task(pool, config, CPU).network.eval(), pool.egos(CPU)
    found = operations(lambda: network(egos(torch.arange(7))))
    assert counts.embedding(7, 20, pool.features + 1, 24, 2).operations == found


def test_a_step_does_little_more_than_it_needs(pool: Pool) -> None:
    config = GearPaperConfig(dim=64, batch_size=10)
    found = operations(lambda: gear_task(pool, config, CPU).step(0))
    assert 1 <= found / step_needs(pool, config, 2).operations < 1.3


def test_features_that_fill_a_line_and_one_more() -> None:
    assert counts.gathers(1, 1, 16) == 1
    assert counts.gathers(3, 20, 17) == 3 * 20 * 2
