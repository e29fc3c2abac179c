"""Training steps and representations: fairgear's dense batches of egos, and PyG's sparse ones."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from benchmarks.bench import counts
from benchmarks.bench.graphs import Scene
from benchmarks.bench.measure import NOTHING, Case, Side, Unsuitable, Work
from benchmarks.bench.sparse import BATCHINGS, DATA_LIST, SparseEncoder, SparseLayer
from fairgear.egos import EgoIndex
from fairgear.egos.batches import unpack
from fairgear.graph import SensitiveGraph
from fairgear.methods.egos import Ego, EgoSource
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear_paper.config import DROPOUT, LAYERS, GearPaperConfig, VaeConfig
from fairgear.methods.gear_paper.generator import VaeGenerator
from fairgear.methods.gear_paper.generator_training import VaeTask
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.gear_paper.training import PaperData, PaperTask
from fairgear.nn import GraphVAE
from fairgear.training import seeded

DENSE = "fairgear"
PERTURBED = "egos become edge lists at every step, as perturbed ones must"
FIXED = "egos become edge lists at every step, which could be kept"
WHOLE = "one n × n decoder"
# A square of so many people and its gradients take a few GB.
MOST_WHOLE = 10**4
# Egos per forward pass, as methods on egos do it.
CHUNK = 1024
EGOS = 2048


@dataclass(frozen=True)
class Pool:
    """The egos of some people, with everybody's features."""

    graph: SensitiveGraph
    index: EgoIndex
    scaler: FeatureScaler
    y: Tensor
    """Of the people of the pool."""

    @classmethod
    def of(cls, scene: Scene) -> Pool:
        """The people whose egos the scene has."""
        graph, index = scene.graph, scene.index
        scaler = FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph)
        return cls(graph, index, scaler, graph.y[index.ids[:, 0].cpu().long()])

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """Columns without the sensitive one."""
        return len(self.scaler.mean)

    def egos(self, device: torch.device, *, captured: bool = True) -> EgoSource:
        """The egos of people of the pool, by their number in it.

        Work whose sizes vary, such as sparse batches, cannot be captured as a CUDA graph.
        """
        kind = EgoSource if captured else _NotCaptured
        return kind(self.graph, self.index, self.scaler.to(device), device)

    def data(self, egos: EgoSource) -> PaperData:
        """What a training reads; the last people of the pool are the validation set."""
        device = egos.device
        everyone = torch.arange(len(self), device=device)
        cut = len(self) - min(512, len(self) // 4)
        return PaperData(egos, self.y.to(device), everyone[:cut], everyone[cut:])


class _NotCaptured(EgoSource):
    """Egos for work whose sizes vary from step to step."""

    @property
    def on_gpu(self) -> bool:
        """Never, so that no step is captured."""
        return False


def gear_task(
    pool: Pool,
    config: GearPaperConfig,
    device: torch.device,
    *,
    batching: str = DENSE,
    dropout: float = DROPOUT,
) -> PaperTask:
    """A task with fresh weights, the same whatever the batching."""
    generator = config.generator
    data = pool.data(pool.egos(device, captured=batching == DENSE))
    with seeded(0, "benchmark"):
        vae = GraphVAE(pool.features, generator.hidden, generator.latent).to(device).eval()
        network = PaperNetwork(pool.features, config, dropout).to(device)
    if batching != DENSE:
        network.encoder = SparseEncoder(network.encoder, batching)
    return PaperTask(network, config, VaeGenerator(vae, generator), data)


def loss_of(task: PaperTask, seed: int) -> dict[str, float]:
    """The terms of the loss at one step whose draws come from `seed`."""
    with seeded(seed, "a step"):
        return {name: float(value) for name, value in task.step(0).items()}


def largest_difference(
    pool: Pool, config: GearPaperConfig, device: torch.device, batching: str
) -> float:
    """Between the terms of the first loss by both ways, without dropout: rounding alone."""
    dense = loss_of(gear_task(pool, config, device, dropout=0.0), 0)
    sparse = loss_of(gear_task(pool, config, device, batching=batching, dropout=0.0), 0)
    return max(abs(dense[name] - sparse[name]) for name in dense)


def gear_case(scene: Scene, config: GearPaperConfig) -> Case:
    """One step; the sides differ only in batch and encoder."""
    device = torch.device(scene.plan.device)
    pool = Pool.of(scene)

    def side(batching: str) -> Side:
        def make() -> Work:
            task = gear_task(pool, config, device, batching=batching)
            return Work(lambda: task.step(0), 1, "" if batching == DENSE else PERTURBED)

        return Side(make, "" if batching == DENSE else DENSE)

    vae = config.generator
    needs = counts.step(
        batch=config.batch_size,
        k=config.k,
        f=pool.features,
        seen=pool.features + 1,
        w=config.dim,
        layers=LAYERS,
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


def vae_task(pool: Pool, config: VaeConfig, device: torch.device, batching: str = DENSE) -> VaeTask:
    """A task with fresh weights, the same whatever the batching."""
    vae = _vae(pool, config, device)
    if batching != DENSE:
        # It is called as the layer is that it stands in for, and is of another class.
        vae.encoder = SparseLayer(vae.encoder, batching)  # type: ignore[assignment]
    with seeded(0, "discriminator"):
        return VaeTask(vae, config, pool.egos(device, captured=batching == DENSE), len(pool))


def vae_loss(task: VaeTask, seed: int) -> dict[str, float]:
    """The terms of the loss at one step whose draws come from `seed`."""
    with seeded(seed, "a step"):
        return {name: float(value) for name, value in task.step(0).items()}


def vae_case(scene: Scene) -> Case:
    """One step on 200 egos; for the whole graph as one ego, one step on everybody, so no ratio."""
    config = VaeConfig()
    device = torch.device(scene.plan.device)
    pool = Pool.of(scene)

    def side(batching: str) -> Side:
        def make() -> Work:
            task = vae_task(pool, config, device, batching)
            return Work(lambda: task.step(0), 1, "" if batching == DENSE else FIXED)

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


def _whole_graph(pool: Pool, config: VaeConfig, device: torch.device) -> VaeTask:
    """The VAE on the graph as a single ego of n members."""
    n = len(pool.graph.x)
    if n > MOST_WHOLE:
        raise Unsuitable(f"a matrix of n × n would take {4 * n * n / 1e9:,.0f} GB")
    with seeded(0, "discriminator"):
        return VaeTask(_vae(pool, config, device), config, _OneEgo(pool, device), n)


def _vae(pool: Pool, config: VaeConfig, device: torch.device) -> GraphVAE:
    with seeded(0, "benchmark"):
        return GraphVAE(pool.features, config.hidden, config.latent).to(device)


class _OneEgo(EgoSource):
    """Everybody as one ego, whatever people are requested."""

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
    def on_gpu(self) -> bool:
        """Not captured: the released code is not."""
        return False

    def __call__(self, people: Tensor) -> Ego:
        """The graph."""
        return self._ego


def embedding_case(scene: Scene) -> Case:
    """Egos of the paper's width; both sides have the members, links and scaled features."""
    device = torch.device(scene.plan.device)
    pool, config = Pool.of(scene), GearPaperConfig()
    chunks = torch.split(torch.arange(min(EGOS, len(pool)), device=device), CHUNK)
    egos = sum(len(rows) for rows in chunks)

    def dense() -> Work:
        network, source = gear_task(pool, config, device).network.eval(), pool.egos(device)

        @torch.no_grad()
        def run() -> Tensor:
            return torch.cat([network(source(rows))[0] for rows in chunks])

        return Work(run, egos)

    def sparse() -> Work:
        network = gear_task(pool, config, device, batching=DATA_LIST).network.eval()
        encoder = network.encoder
        assert isinstance(encoder, SparseEncoder)
        index = pool.index.to(device)
        members = [_members(index, int(row)) for rows in chunks for row in rows]
        sens = pool.graph.sens[:, None].float().to(device)
        seen = torch.cat([pool.scaler.to(device).scaled(pool.graph.x), sens], dim=1)

        @torch.no_grad()
        def run() -> Tensor:
            parts = []
            for begin in range(0, egos, CHUNK):
                batch = Batch.from_data_list(
                    [
                        Data(x=seen[n_id], edge_index=edges)
                        for n_id, edges in members[begin : begin + CHUNK]
                    ]
                )
                z = encoder.on_batch(batch.x, batch.edge_index)[batch.ptr[:-1]]
                network.classifier(z)
                parts.append(z)
            return torch.cat(parts)

        return Work(run, egos, "edge lists of the egos made beforehand")

    def checks() -> dict[str, str]:
        # What a side's run gives has no type of its own; that of these two is tensors.
        apart = (dense().run() - sparse().run()).abs().max()  # type: ignore[operator]
        return {DATA_LIST: f"representations differ by {float(apart):.1e}"}

    needs = counts.embedding(1, config.k, pool.features + 1, config.dim, LAYERS)
    sides = {DENSE: Side(dense), DATA_LIST: Side(sparse, DENSE)}
    return Case("person", len(pool.graph.x), sides, lambda: needs, checks)


def _members(index: EgoIndex, row: int) -> tuple[Tensor, Tensor]:
    """The members of an ego, and the edges among them."""
    size = int(index.mask[row].sum())
    return index.ids[row, :size].long(), unpack(index.adjacency[row]).nonzero().T
