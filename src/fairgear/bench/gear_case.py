"""A training step of Gear on dense batches and on PyG's."""

from __future__ import annotations

from dataclasses import replace

import torch

from fairgear.bench import counts
from fairgear.bench.measure import Case, Side, Work
from fairgear.bench.scene import Pool, Scene
from fairgear.bench.sparse import BATCHINGS, SparseEncoder
from fairgear.methods.gear_config import GearConfig, Regime
from fairgear.methods.gear_network import GearNetwork
from fairgear.methods.gear_training import GearTask
from fairgear.methods.generators import VaeGenerator
from fairgear.nn import GraphVAE
from fairgear.training import seeded

DENSE = "fairgear"
REMARK = "egos become edge lists at every step, as perturbed ones must"
# Above this many labels the settings leave one way to train; the paper's preset has but one.
MANY_LABELS = 10**6


def gear_task(
    pool: Pool,
    config: GearConfig,
    device: torch.device,
    *,
    batching: str = DENSE,
    dropout: float | None = None,
) -> GearTask:
    """A task with fresh weights, the same whatever the batching."""
    regime = _regime(config)
    regime = regime if dropout is None else replace(regime, dropout=dropout)
    generator = config.generator
    data = pool.data(pool.egos(device, recorded=batching == DENSE))
    with seeded(0, "benchmark"):
        vae = GraphVAE(pool.features, generator.hidden, generator.latent).to(device).eval()
        network = GearNetwork(pool.features, config, regime).to(device)
    network.fit_inputs(data.x_asked, data.sens_asked, pool.scaler, None)
    if batching != DENSE:
        network.encoder = SparseEncoder(network.encoder, batching)
    return GearTask(network, config, regime, VaeGenerator(vae), data)


def loss_of(task: GearTask, seed: int) -> dict[str, float]:
    """The terms of the loss at one step whose draws come from `seed`."""
    with seeded(seed, "a step"):
        return {name: float(value) for name, value in task.step(0).items()}


def largest_difference(
    pool: Pool, config: GearConfig, device: torch.device, batching: str
) -> float:
    """Between the terms of the first loss by both ways, without dropout: rounding alone."""
    dense = loss_of(gear_task(pool, config, device, dropout=0.0), 0)
    sparse = loss_of(gear_task(pool, config, device, batching=batching, dropout=0.0), 0)
    return max(abs(dense[name] - sparse[name]) for name in dense)


def gear_case(scene: Scene, config: GearConfig) -> Case:
    """One step; both sides draw, perturb and optimise alike, and differ in batch and encoder."""
    device = torch.device(scene.plan.device)
    pool = scene.pool

    def side(batching: str) -> Side:
        def make() -> Work:
            task = gear_task(pool, config, device, batching=batching)
            return Work(lambda: task.step(0), 1, "" if batching == DENSE else REMARK)

        return Side(make, "" if batching == DENSE else DENSE)

    regime, vae = _regime(config), config.generator
    needs = counts.step(
        batch=regime.batch_size,
        k=config.k,
        f=pool.features,
        seen=pool.features + int(config.use_sens),
        w=config.dim,
        layers=regime.layers,
        draws=config.neighbor_draws,
        h=vae.hidden,
        latent=vae.latent,
    )
    return Case(
        "step",
        1,
        {name: side(name) for name in (DENSE, *BATCHINGS)},
        lambda: needs,
        lambda: {
            name: f"loss differs by {largest_difference(pool, config, device, name):.1e}"
            for name in BATCHINGS
        },
    )


def _regime(config: GearConfig) -> Regime:
    return config.regimes(MANY_LABELS)[-1]
