"""Egos by fairgear and by others: the top 20 by PageRank, and the links among them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from torch import Tensor

from benchmarks.bench import counts
from benchmarks.bench.graphs import Scene
from benchmarks.bench.measure import Case, Side, Unsuitable, Work
from benchmarks.bench.push import (
    Pushed,
    overlap,
    plain_push,
    power_walks,
    pyg_push,
    top_members,
    walk_matrix,
)
from fairgear.egos import PageRank, Structure, find_egos
from fairgear.egos.batches import pack
from fairgear.methods import GearPaperConfig

K, ALPHA, TOLERANCE, LOOSE = 20, 0.15, 1e-5, 1e-4
# The most people for fast and for slow sides. In a small graph a push reaches everybody and takes
# long, so at most one person in `ONE_IN` is used.
MANY, SOME, FEW, PLAIN, ONE_IN = 1000, 200, 8, 5, 10
# The share of the proven top 20 at which two sides are compared, the bounds with which get_ppr is
# tried, and the share of a benchmark's time that one person may take before trying ends.
EQUAL_OVERLAP = 0.995
EPSILONS = tuple(
    digit * power for power in (1e-5, 1e-6, 1e-7, 1e-8) for digit in (10, 7, 5, 4, 3, 2)
)
TOO_LONG = 0.002
PEOPLE = 1000
# PyG's functions look at every edge for each person; so many edges make a run.
SCANNED = 4 * 10**7
EXACT, CLOSE = "fairgear", "fairgear, close"
EQUAL = "get_ppr, equal overlap"


class PprCase:
    """All sides on one graph; what they find is compared with the proven top 20."""

    def __init__(self, scene: Scene) -> None:
        self.graph = scene.graph
        self.n = len(scene.graph.x)
        self.people = scene.people(min(MANY, max(FEW, self.n // ONE_IN)))
        self.some = self.people[:SOME]
        self.too_long = TOO_LONG * scene.plan.enough
        self.found: dict[str, Callable[[], Tensor]] = {}
        self._pushed: dict[float, list[Pushed]] = {}

    @cached_property
    def structure(self) -> Structure:
        """Neighbour lists."""
        return Structure.of(self.graph.edge_index, self.n)

    @cached_property
    def truth(self) -> Tensor:
        """(m, 20) of `some`, proven except for ties."""
        return find_egos(self.structure, PageRank(K, ALPHA), nodes=self.some).ids

    def pushed(self, tolerance: float) -> list[Pushed]:
        """Counts of a plain push from the first people."""
        structure = self.structure
        if tolerance not in self._pushed:
            self._pushed[tolerance] = [
                plain_push(structure.indptr, structure.indices, int(node), ALPHA, tolerance)
                for node in self.people[:PLAIN]
            ]
        return self._pushed[tolerance]

    def case(self) -> Case:
        """The benchmark."""
        exact, close = PageRank(K, ALPHA), PageRank(K, ALPHA, precision="close")
        sides = {
            EXACT: Side(lambda: self.by_fairgear(EXACT, exact, self.some)),
            CLOSE: Side(lambda: self.by_fairgear(CLOSE, close, self.people)),
            EQUAL: Side(self.by_pyg_equal, CLOSE, memory=False),
        }
        for tolerance in (LOOSE, TOLERANCE):
            sides |= self._same_tolerance(tolerance)
        tight = _named("fairgear", TOLERANCE)
        sides["SciPy power iteration"] = Side(self.by_scipy, tight)
        sides["plain Python"] = Side(self.by_python, tight, memory=False)
        return Case("person", self.n, sides, self.needs, self.checks)

    def _same_tolerance(self, tolerance: float) -> dict[str, Side]:
        ours, theirs = _named("fairgear", tolerance), _named("get_ppr", tolerance)
        push = PageRank(K, ALPHA, tolerance)
        return {
            ours: Side(lambda: self.by_fairgear(ours, push, self.people)),
            # Its memory would need another compilation, for the same answer.
            theirs: Side(
                lambda: self.by_pyg(theirs, tolerance, self.people),
                ours,
                memory=tolerance == TOLERANCE,
            ),
        }

    def by_fairgear(self, name: str, how: PageRank, people: Tensor) -> Work:
        """`find_egos`; its set-up sorts the edges."""
        structure = self.structure
        # Compiled code is loaded before anything is timed.
        find_egos(structure, how, nodes=people[:1])
        self.found[name] = lambda: find_egos(structure, how, nodes=self.some).ids
        return Work(
            lambda: find_egos(structure, how, nodes=people).ids,
            # One person's push is subtracted with the set-up of a call, as on the other side.
            len(people) - 1,
            f"{len(people)} people",
            overhead=lambda: find_egos(structure, how, nodes=people[:1]).ids,
            needs=None if how.tolerance is None else lambda: self.needs(how.tolerance or TOLERANCE),
        )

    def by_pyg(self, name: str, epsilon: float, people: Tensor) -> Work:
        """PyG's push at the same bound on what is left; picking the top 20 is not timed."""
        call = pyg_push(self.graph.edge_index, self.n, ALPHA, epsilon)
        # The first call compiles it, for several seconds.
        call(people[:1])
        self.found[name] = lambda: top_members(call(self.some), self.structure, self.some, K)
        return Work(
            lambda: call(people),
            # One person's push is subtracted with the set-up.
            len(people) - 1,
            f"{len(people)} people, eps {epsilon:.0e}, without the choice of the top 20",
            overhead=lambda: call(people[:1]),
        )

    def by_pyg_equal(self) -> Work:
        """The same at the loosest bound that finds `EQUAL_OVERLAP` of the proven top 20."""
        close = PageRank(K, ALPHA, precision="close")
        ours = self.overlap(find_egos(self.structure, close, nodes=self.some).ids)
        if ours < EQUAL_OVERLAP:
            raise Unsuitable(f"{CLOSE} reaches an overlap of {ours:.4f}, below {EQUAL_OVERLAP}")
        for epsilon in EPSILONS:
            call = pyg_push(self.graph.edge_index, self.n, ALPHA, epsilon)
            call(self.some[:1])
            begin = time.perf_counter()
            visits = call(self.some)
            seconds = (time.perf_counter() - begin) / len(self.some)
            reached = self.overlap(top_members(visits, self.structure, self.some, K))
            if reached >= EQUAL_OVERLAP:
                return self.by_pyg(EQUAL, epsilon, self.some)
            # Its queue is last in, first out, so each finer bound takes far longer.
            if seconds > self.too_long:
                break
        raise Unsuitable(
            f"overlap {reached:.4f} at eps {epsilon:.0e} and {1000 * seconds:.0f} ms a person; "
            f"{EQUAL_OVERLAP} was wanted"
        )

    def by_scipy(self) -> Work:
        """Power steps of a sparse matrix until no more is left than a push at 1e-5 leaves."""
        walk, degrees = walk_matrix(self.structure.indptr, self.structure.indices)
        few = self.people[:FEW].numpy()
        return Work(
            lambda: power_walks(walk, degrees, few, ALPHA, TOLERANCE), len(few), f"{FEW} people"
        )

    def by_python(self) -> Work:
        """The push in plain Python."""
        few = self.people[:PLAIN].tolist()
        indptr, indices = self.structure.indptr, self.structure.indices

        def run() -> None:
            for node in few:
                plain_push(indptr, indices, node, ALPHA, TOLERANCE)

        return Work(run, len(few), f"{len(few)} people")

    def needs(self, tolerance: float = TOLERANCE) -> counts.Needs:
        """Of a push at a tolerance, counted in plain Python."""
        pushed = self.pushed(tolerance)
        return counts.push(
            sum(one.pushes for one in pushed) / len(pushed),
            sum(len(one.settled) for one in pushed) / len(pushed),
        )

    def checks(self) -> dict[str, Any]:
        """The share of the proven top 20 that each side found."""
        found = {name: f"overlap {self.overlap(run()):.4f}" for name, run in self.found.items()}
        pushed = self.pushed(TOLERANCE)
        edges = sum(one.edges for one in pushed) / len(pushed)
        found["plain Python"] = f"{edges:,.0f} edges followed a person"
        return found

    def overlap(self, found: Tensor) -> float:
        """Share of the proven members that are among `found` (m, 20), of the first people."""
        return overlap(found, self.truth[: len(found)])


def _named(who: str, tolerance: float) -> str:
    return f"{who}, tolerance {tolerance:.0e}".replace("e-0", "e-")


def ego_case(scene: Scene) -> Case:
    """Egos of some people, as `Gear` finds them; PyG is given the members and ranks nobody."""
    graph, n = scene.graph, len(scene.graph.x)
    people = scene.people(PEOPLE)
    precision = GearPaperConfig().ego_precision(n)
    few = people[: max(3, min(100, SCANNED // max(1, graph.edge_index.shape[1])))]

    def by_fairgear() -> Work:
        structure = Structure.of(graph.edge_index, n)

        def run() -> None:
            egos = find_egos(structure, PageRank(K, precision=precision), nodes=people)
            pack(structure.canonical, egos.ids, egos.mask)

        return Work(run, len(people), f"PageRank ({precision}, as Gear at this size) and links")

    def by_subgraph() -> Work:
        from torch_geometric.utils import subgraph

        members = scene.index.ids[: len(few)].long()
        masks = scene.index.mask[: len(few)]

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
