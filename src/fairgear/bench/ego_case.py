"""Whole egos, members and the links among them, by fairgear and by PyG's subgraphs."""

from __future__ import annotations

from fairgear.bench import counts
from fairgear.bench.measure import Case, Side, Work
from fairgear.bench.pagerank_case import K, PprCase
from fairgear.bench.scene import Scene
from fairgear.egos import PageRank, Structure, bits, find_egos
from fairgear.methods.gear_config import GearConfig

PEOPLE = 1000
# PyG's functions look at every edge for each person; so many edges make a run.
EDGES = 4 * 10**7


def ego_case(scene: Scene) -> Case:
    """Egos of some people, as `Gear` finds them; PyG is given the members and ranks nobody."""
    graph, n = scene.graph, len(scene.graph.x)
    people = scene.people(PEOPLE)
    precision = GearConfig().ego_precision(n)
    few = people[: max(3, min(100, EDGES // max(1, graph.edge_index.shape[1])))]

    def by_fairgear() -> Work:
        structure = Structure.of(graph.edge_index, n)

        def run() -> None:
            egos = find_egos(structure, PageRank(K, precision=precision), nodes=people)
            bits.pack(structure, egos.ids, egos.mask)

        return Work(run, len(people), f"PageRank ({precision}, as Gear at this size) and links")

    def by_subgraph() -> Work:
        from torch_geometric.utils import subgraph

        members = scene.pool.index.ids[: len(few)].long()
        masks = scene.pool.index.mask[: len(few)]

        def run() -> None:
            for ids, mask in zip(members, masks, strict=True):
                subgraph(ids[mask], graph.edge_index, relabel_nodes=True, num_nodes=n)

        return Work(run, len(few), f"{len(few)} people, members given, links alone")

    def by_hops() -> Work:
        from torch_geometric.utils import k_hop_subgraph

        def run() -> None:
            for node in few.tolist():
                k_hop_subgraph(node, 2, graph.edge_index, relabel_nodes=True, num_nodes=n)

        return Work(run, len(few), f"{len(few)} people, all within two steps, no ranking")

    sides = {
        "fairgear": Side(by_fairgear),
        "PyG subgraph": Side(by_subgraph, "fairgear"),
        "PyG k_hop_subgraph": Side(by_hops, "fairgear"),
    }
    return Case("person", n, sides, lambda: PprCase(scene).needs() + counts.adjacency(1, K))
