"""Representations of a whole graph: dense batches of egos, and PyG's."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from fairgear.bench import counts
from fairgear.bench.gear_case import DENSE, gear_task
from fairgear.bench.measure import Case, Side, Work
from fairgear.bench.scene import Scene
from fairgear.bench.sparse import DATA_LIST, SparseEncoder
from fairgear.egos import EgoIndex
from fairgear.egos.bits import unpack
from fairgear.methods.gear_config import GearConfig

# Egos a forward pass, as Gear does it.
CHUNK = 1024
EGOS = 2048


def embedding_case(scene: Scene) -> Case:
    """Egos of the paper's width; both sides have the members, links and scaled features."""
    device = torch.device(scene.plan.device)
    pool, config = scene.pool, GearConfig.paper()
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

    seen = pool.features + int(config.use_sens)
    needs = counts.embedding(1, config.k, seen, config.dim, int(config.layers or 2))
    sides = {DENSE: Side(dense), DATA_LIST: Side(sparse, DENSE)}
    return Case("person", len(pool.graph.x), sides, lambda: needs, checks)


def _members(index: EgoIndex, row: int) -> tuple[Tensor, Tensor]:
    """The members of an ego, and the edges among them."""
    size = int(index.mask[row].sum())
    return index.ids[row, :size].long(), unpack(index.adjacency[row]).nonzero().T
