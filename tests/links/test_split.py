"""Splits of links: what is asked, what is seen, and what tells nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import FairgearError
from fairgear.graph import directed_edges, undirected_edges
from fairgear.links import LinkSplit, Pairs, split_links
from tests.graphs import linked_graph, random_graph

Pair = tuple[int, int]
kinds = {"seed": st.integers(0, 10_000), "directed": st.booleans(), "weighted": st.booleans()}
rules = st.sampled_from(["uniform", "degree"])


def some_graph(seed: int, *, directed: bool = False, weighted: bool = False) -> SensitiveGraph:
    return linked_graph(40, 120, seed % 11, directed=directed, weighted=weighted)


def parts_of(split: LinkSplit) -> list[Pairs]:
    return [split.train, split.val, split.test]


def in_ids(graph: SensitiveGraph, ends: Tensor) -> list[Pair]:
    """Pairs of ids, lower first unless the graph is directed."""
    named = graph.node_id[ends].T.tolist()
    return [(i, j) if graph.directed or i < j else (j, i) for i, j in named]


@given(**kinds, negatives=rules, per_link=st.integers(1, 3))
def test_what_a_split_is(
    seed: int, directed: bool, weighted: bool, negatives: str, per_link: int
) -> None:
    graph = some_graph(seed, directed=directed, weighted=weighted)
    split = split_links(graph, seed=seed, negatives=negatives, per_link=per_link)
    edges = set(in_ids(graph, graph.edge_index))
    total = graph.num_undirected_edges
    seen_before: set[Pair] = set()
    for part, share in zip(parts_of(split), (0.2, 0.05, 0.15), strict=True):
        pairs = in_ids(graph, part.ends)
        count = round(share * total)
        assert part.linked.sum() == count
        assert len(part) == (1 + per_link) * count
        assert [pair in edges for pair in pairs] == part.linked.bool().tolist()
        assert len(set(pairs)) == len(pairs)
        assert not seen_before & set(pairs)
        seen_before |= set(pairs)
    # Everything else stays.
    assert set(in_ids(graph, split.input.edge_index)) == edges - seen_before


@given(**kinds, other=st.integers(0, 10_000))
def test_no_seen_world_has_an_edge_between_a_pair_in_question(
    seed: int, directed: bool, weighted: bool, other: int
) -> None:
    graph = some_graph(seed, directed=directed, weighted=weighted)
    split = split_links(graph, seed=seed)
    made = linked_graph(40, 400, other % 13, directed=directed, weighted=weighted)
    world = graph.replace(edge_index=made.edge_index, edge_weight=made.edge_weight)
    asked = set(in_ids(graph, split.asked))
    edges = set(in_ids(world, world.edge_index))
    seen = split.seen(world)
    assert edges & asked  # the world has some
    left = set(in_ids(seen, seen.edge_index))
    known = set(in_ids(graph, graph.edge_index))
    assert left <= edges - asked
    assert left & known == (edges - asked) & known  # what the graph has, too, is seen as there
    # Of what only the world has, nearly the same share is hidden: within five standard errors.
    new = edges - asked - known
    assert len(known - asked) == round((1 - split.hidden_share) * len(known))
    error = (split.hidden_share * (1 - split.hidden_share) / len(new)) ** 0.5
    assert abs(1 - len(left - known) / len(new) - split.hidden_share) < 5 * error
    assert torch.equal(seen.edge_index, split.seen(world.replace()).edge_index)


@given(**kinds, negatives=rules, timed=st.booleans())
def test_a_split_repeats_and_the_order_of_rows_does_not_matter(
    seed: int, directed: bool, weighted: bool, negatives: str, timed: bool
) -> None:
    graph = some_graph(seed, directed=directed, weighted=weighted)
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(seed))
    made = [
        split_links(one, seed=seed, negatives=negatives, times=years(one, seed) if timed else None)
        for one in (graph, graph, graph.permute(order))
    ]
    first = made[0]
    for split in made[1:]:
        for one, other in zip(parts_of(first), parts_of(split), strict=True):
            # To the order of the pairs, and of the two in a pair.
            assert torch.equal(first.graph.node_id[one.ends], split.graph.node_id[other.ends])
            assert torch.equal(one.linked, other.linked)


def years(graph: SensitiveGraph, seed: int) -> Tensor:
    """A time for each edge, few values, a function of its ids; the same in both directions."""
    ids = graph.node_id[graph.edge_index]
    low, high = (ids.amin(0), ids.amax(0)) if not graph.directed else ids
    return (low * 31 + high * 17 + seed) % 23


@given(**kinds)
def test_the_latest_links_are_for_test(seed: int, directed: bool, weighted: bool) -> None:
    graph = some_graph(seed, directed=directed, weighted=weighted)
    times = years(graph, seed)
    split = split_links(graph, seed=seed, times=times)
    when = dict(zip(map(tuple, graph.edge_index.T.tolist()), times.tolist(), strict=True))
    groups = [[when[i, j] for i, j in split.input.edge_index.T.tolist()]]
    for part in parts_of(split):
        links = part.ends[:, part.linked.bool()]
        groups.append([when[i, j] for i, j in links.T.tolist()])
    for earlier, later in pairwise(groups):
        assert max(earlier) <= min(later)
    # Those of one moment are drawn, not taken by their ids.
    flat = split_links(graph, seed=seed, times=torch.zeros_like(times))
    plain = split_links(graph, seed=seed)
    assert torch.equal(flat.test.ends, plain.test.ends)


def test_seeds_differ() -> None:
    graph = random_graph(60, 300)
    asked = [set(in_ids(graph, split_links(graph, seed=seed).asked)) for seed in range(2)]
    assert len(asked[0] & asked[1]) < len(asked[0]) / 2


def test_all_links_are_as_likely_to_be_asked() -> None:
    graph = random_graph(12, 40)
    counts: dict[Pair, int] = dict.fromkeys(in_ids(graph, graph.edge_index), 0)
    times = 400
    for seed in range(times):
        part = split_links(graph, seed=seed, train=0.3, val=0.1, test=0.1).train
        for pair in in_ids(graph, part.ends[:, part.linked.bool()]):
            counts[pair] += 1
    share = round(0.3 * len(counts)) / len(counts)
    spread = (share * (1 - share) / times) ** 0.5
    worst = max(abs(count / times - share) for count in counts.values())
    assert worst < 4.5 * spread


def test_all_pairs_apart_are_as_likely_to_be_drawn() -> None:
    graph = random_graph(12, 20)
    linked = set(in_ids(graph, graph.edge_index))
    apart = {(i, j): 0 for i in range(12) for j in range(i + 1, 12) if (i, j) not in linked}
    times, drawn = 400, 0
    for seed in range(times):
        split = split_links(graph, seed=seed, train=0.1, val=0.1, test=0.1)
        for part in parts_of(split):
            for pair in in_ids(graph, part.ends[:, part.linked == 0]):
                apart[pair] += 1
                drawn += 1
    share = drawn / times / len(apart)
    spread = (share * (1 - share) / times) ** 0.5
    assert max(abs(count / times - share) for count in apart.values()) < 4.5 * spread


@pytest.mark.parametrize("directed", [False, True])
def test_by_degree_being_popular_tells_nothing(directed: bool) -> None:
    # Few are known by many, and who knows many is not who is known by many.
    rng = np.random.default_rng(0)
    chances = [(1 + np.arange(900)) ** -0.6, (1 + rng.permutation(900)) ** -0.6]
    ends = np.stack([rng.choice(900, 4500, p=one / one.sum()) for one in chances])
    make = directed_edges if directed else undirected_edges
    graph = SensitiveGraph(
        torch.randn(900, 2),
        make(torch.from_numpy(ends[:, ends[0] != ends[1]]), 900),
        sens=torch.arange(900) % 2,
        directed=directed,
    )
    told = {}
    for negatives in ("uniform", "degree"):
        split = split_links(graph, negatives=negatives, per_link=2)
        out, into = (torch.bincount(side, minlength=900).double() for side in graph.edge_index)
        pairs = Pairs(split.asked, torch.cat([part.linked for part in parts_of(split)]))
        popular = out[pairs.ends[0]] * into[pairs.ends[1]]
        told[negatives] = auroc(popular, pairs.linked)
    assert told["uniform"] > 0.7
    # Pairs of the most popular are linked already, so a little is left.
    assert abs(told["degree"] - 0.5) < 0.05


def auroc(scores: Tensor, linked: Tensor) -> float:
    """By ranks, as Mann and Whitney count."""
    ranks = rankdata(scores.numpy())
    yes = linked.bool().numpy()
    ahead = ranks[yes].sum() - yes.sum() * (yes.sum() + 1) / 2
    return float(ahead / (yes.sum() * (~yes).sum()))


def test_dense_graphs_are_refused_in_one_line() -> None:
    everyone = torch.combinations(torch.arange(12)).T
    for pairs in (everyone, everyone[:, 6:]):
        graph = random_graph(12).replace(edge_index=undirected_edges(pairs, 12))
        with pytest.raises(
            FairgearError, match=r"pairs that are not linked: got [06] found"
        ) as error:
            split_links(graph)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"train": 0.0}, "share train of the links: got 0.0"),
        ({"val": float("nan")}, "share val of the links: got nan"),
        ({"test": 1.0}, "share test of the links: got 1.0"),
        ({"train": 0.5, "val": 0.3, "test": 0.3}, "shares of the links: got 1.1"),
        ({"train": 0.001}, "links to train on: got 0.001 of"),
        ({"per_link": 0}, "per_link: got 0"),
        ({"per_link": 1.5}, "per_link: got 1.5"),
        ({"negatives": "none"}, "rule for pairs that are not linked"),
        ({"seed": -1}, "seed of the split"),
        ({"times": torch.zeros(3)}, "times of the links: got shape"),
    ],
)
def test_what_cannot_be_split_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(FairgearError) as error:
        split_links(random_graph(), **settings)  # type: ignore[arg-type]
    assert said in str(error.value)


def test_shares_that_round_up_to_all_links_are_refused() -> None:
    graph = random_graph().replace(
        edge_index=undirected_edges(torch.arange(6).unfold(0, 2, 1).T, 30)
    )
    assert graph.num_undirected_edges == 5
    # Each share is 1.65 links, two of them.
    with pytest.raises(FairgearError, match="links that models see: got 5 less 2 \\+ 2 \\+ 2"):
        split_links(graph, train=0.33, val=0.33, test=0.33)


def test_times_that_are_unknown_or_differ_by_direction_are_refused() -> None:
    graph = random_graph()
    times = torch.zeros(graph.edge_index.shape[1])
    with pytest.raises(FairgearError, match="1 unknown"):
        split_links(graph, times=times.index_fill(0, torch.tensor([2]), float("nan")))
    with pytest.raises(FairgearError, match="for the two directions of one edge"):
        split_links(graph, times=torch.arange(len(times)))
    arcs = graph.replace(directed=True)
    assert len(split_links(arcs, times=torch.arange(len(times))).test)


def test_a_split_made_by_hand_is_checked() -> None:
    graph = random_graph()
    one = Pairs(torch.tensor([[0], [1]]), torch.tensor([1]))
    two, three = (Pairs(torch.tensor([[i], [4]]), torch.tensor([0])) for i in (2, 3))
    assert LinkSplit(graph, one, two, three).asked.tolist() == [[0, 2, 3], [1, 4, 4]]
    back = Pairs(one.ends.flip(0), one.linked)
    with pytest.raises(FairgearError, match="pairs of a split: got 1 twice"):
        LinkSplit(graph, one, two, back)
    assert LinkSplit(graph.replace(directed=True), one, two, back)
    with pytest.raises(FairgearError, match="linked of a split: got shape"):
        LinkSplit(graph, one, two, Pairs(three.ends, torch.tensor([0, 1])))
    with pytest.raises(FairgearError, match="row 30"):
        LinkSplit(graph, one, two, Pairs(torch.tensor([[30], [4]]), torch.tensor([0])))


@pytest.mark.parametrize("directed", [False, True])
def test_test_pairs_stay_the_same_with_a_seed_of_their_own(directed: bool) -> None:
    graph = some_graph(3, directed=directed)
    splits = [split_links(graph, seed=seed, test_seed=7) for seed in (0, 1)]
    one, other = splits
    assert torch.equal(one.test.ends, other.test.ends)
    assert torch.equal(one.test.linked, other.test.linked)
    for name in ("train", "val"):
        assert not torch.equal(getattr(one, name).ends, getattr(other, name).ends)
    links = set(in_ids(graph, graph.edge_index))
    for split in splits:
        for part in parts_of(split):
            asked = in_ids(graph, part.ends)
            assert [pair in links for pair in asked] == part.linked.bool().tolist()
