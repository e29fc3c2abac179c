"""A training step of the graph VAE: on dense egos, on PyG's batches, on a whole dense graph."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.bench import counts
from fairgear.bench.gear_case import DENSE
from fairgear.bench.measure import NOTHING, Case, Side, Unsuitable, Work
from fairgear.bench.scene import Pool, Scene
from fairgear.bench.sparse import BATCHINGS, SparseLayer
from fairgear.methods.augmentation import VaeTask
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.gear_config import GeneratorConfig
from fairgear.methods.generators import Ego
from fairgear.nn import GraphVAE
from fairgear.training import seeded

WHOLE = "one n × n decoder"
REMARK = "egos become edge lists at every step, which could be kept"
# A square of so many people and its gradients take a few GB.
MOST_WHOLE = 10**4


def vae_task(
    pool: Pool, config: GeneratorConfig, device: torch.device, batching: str = DENSE
) -> VaeTask:
    """A task with fresh weights, the same whatever the batching."""
    vae = _vae(pool, config, device)
    if batching != DENSE:
        # It is called as the layer is that it stands in for, and is of another class.
        vae.encoder = SparseLayer(vae.encoder, batching)  # type: ignore[assignment]
    with seeded(0, "discriminator"):
        return VaeTask(vae, config, pool.egos(device, recorded=batching == DENSE), len(pool))


def vae_loss(task: VaeTask, seed: int) -> dict[str, float]:
    """The terms of the loss at one step whose draws come from `seed`."""
    with seeded(seed, "a step"):
        return {name: float(value) for name, value in task.step(0).items()}


def vae_case(scene: Scene) -> Case:
    """One step on 200 egos; for the whole graph as one ego, one step on everybody, so no ratio."""
    config = GeneratorConfig()
    device = torch.device(scene.plan.device)
    pool = scene.pool

    def side(batching: str) -> Side:
        def make() -> Work:
            task = vae_task(pool, config, device, batching)
            return Work(lambda: task.step(0), 1, "" if batching == DENSE else REMARK)

        return Side(make, "" if batching == DENSE else DENSE)

    def whole() -> Work:
        task = _whole_graph(pool, config, device)
        return Work(
            lambda: task.step(0),
            1,
            f"a step on all {len(pool.graph.x):,} people, as the released code does, not on "
            f"{config.batch_size}: no ratio",
        )

    def checks() -> dict[str, str]:
        dense = vae_loss(vae_task(pool, config, device), 0)
        found = {}
        for batching in BATCHINGS:
            other = vae_loss(vae_task(pool, config, device, batching), 0)
            apart = max(abs(dense[name] - other[name]) for name in dense)
            found[batching] = f"loss differs by {apart:.1e}"
        return found

    sides = {name: side(name) for name in (DENSE, *BATCHINGS)} | {WHOLE: Side(whole, NOTHING)}
    needs = counts.vae_step(
        config.batch_size,
        pool.index.k,
        pool.features,
        config.hidden,
        config.latent,
        config.ranges,
    )
    return Case("step", 1, sides, lambda: needs, checks)


def _whole_graph(pool: Pool, config: GeneratorConfig, device: torch.device) -> VaeTask:
    """The VAE on the graph as a single ego of n members."""
    n = len(pool.graph.x)
    if n > MOST_WHOLE:
        raise Unsuitable(f"a matrix of n × n would take {4 * n * n / 1e9:,.0f} GB")
    with seeded(0, "discriminator"):
        return VaeTask(_vae(pool, config, device), config, _OneEgo(pool, device), n)


def _vae(pool: Pool, config: GeneratorConfig, device: torch.device) -> GraphVAE:
    with seeded(0, "benchmark"):
        return GraphVAE(pool.features, config.hidden, config.latent).to(device)


class _OneEgo(EgoSource):
    """Everybody as one ego, whoever is asked for."""

    def __init__(self, pool: Pool, device: torch.device) -> None:
        graph, n = pool.graph, len(pool.graph.x)
        self.device = device
        adjacency = torch.zeros(1, n, n, device=device)
        source, target = graph.edge_index.to(device)
        adjacency[0, source, target] = 1.0
        x = pool.scaler.to(device).scaled(graph.x)
        members = torch.ones(1, n, dtype=torch.bool, device=device)
        self._ego = Ego(x[None], graph.sens.to(device)[None], adjacency, members)

    @property
    def on_card(self) -> bool:
        """Not recorded: the released code is not."""
        return False

    def __call__(self, people: Tensor) -> Ego:
        """The graph."""
        return self._ego
