"""FairWalk: walks, skip-grams, and vectors that several graphs share."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fairgear.graph import SensitiveGraph
from fairgear.hashing import node_hash
from fairgear.links.methods.fairwalk import FairWalk, FairWalkConfig, Walker
from fairgear.links.methods.walks import FairSteps, skip_gram
from fairgear.training import Checkpoint
from tests.links.methods.graphs import SETTINGS, fitted, new, split_of

SMALL: dict[str, Any] = SETTINGS["fairwalk"]


def uneven(**more: Any) -> SensitiveGraph:
    """Eight people in three groups, whose rows are not in the order of their ids."""
    pairs = [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 2), (3, 4), (5, 6), (4, 6)]
    arcs = sorted(pairs + [pair[::-1] for pair in pairs])
    if more.get("directed"):
        arcs = [arc for arc in arcs if sum(arc) % 3 or arc[0] == 0]
    edges = torch.tensor(arcs).T
    if more.pop("weighted", False):
        more["edge_weight"] = 0.5 + (edges.sum(dim=0) % 4).double()
    return SensitiveGraph(
        torch.zeros(8, 1),
        edges,
        sens=torch.tensor([0, 0, 0, 1, 1, 2, 2, 1]),
        sens_kind="categorical",
        node_id=torch.tensor([9, 4, 7, 1, 3, 8, 2, 5]),
        **more,
    )


def transitions(graph: SensitiveGraph) -> NDArray[np.float64]:
    """The probability of each step between rows, by the definition."""
    n = len(graph.x)
    weights = np.zeros((n, n))
    given = graph.edge_weight
    each = [1.0] * graph.edge_index.shape[1] if given is None else given.tolist()
    for (one, other), weight in zip(graph.edge_index.T.tolist(), each, strict=True):
        weights[one, other] = weight
    found = np.zeros((n, n))
    for person in range(n):
        groups = {int(graph.sens[other]) for other in range(n) if weights[person, other] > 0}
        for group in groups:
            own = weights[person] * (graph.sens.numpy() == group)
            found[person] += own / own.sum() / len(groups)
    return found


@pytest.mark.parametrize("kind", [{}, {"weighted": True}, {"directed": True}])
def test_steps_have_the_probabilities_of_the_definition(kind: dict[str, bool]) -> None:
    graph = uneven(**kind)
    config = FairWalkConfig(length=6)
    walker = Walker(graph, config, seed=1)
    rows = graph.canonical.rows.numpy()
    counts = np.zeros((8, 8))
    alone = 0
    for number in range(3000):
        walks = walker.walks(number)
        assert (walks[:, 0] == np.arange(8)).all()
        for walk in walks:
            met = rows[walk[walk >= 0]]
            assert (walk[len(met) :] == -1).all()
            np.add.at(counts, (met[:-1], met[1:]), 1)
            alone += len(met) == 1
    expected = transitions(graph)
    seen = counts.sum(axis=1)
    assert (counts[expected == 0] == 0).all()
    for person in range(8):
        if not expected[person].any():
            assert seen[person] == 0
            continue
        deviation = np.sqrt(expected[person] * (1 - expected[person]) / seen[person])
        gap = np.abs(counts[person] / seen[person] - expected[person])
        assert (gap <= 4.5 * deviation + 1e-12).all()
    assert alone >= 3000


def test_neighbours_are_by_group_and_reach_rises_to_one() -> None:
    graph = uneven(weighted=True)
    steps, order = FairSteps.of(graph), graph.canonical
    sens = graph.sens[order.rows].numpy()
    for person in range(8):
        parts = range(steps.begin[person], steps.begin[person + 1])
        met = []
        for part in parts:
            own = slice(steps.groups[part], steps.groups[part + 1])
            assert len(set(sens[steps.to[own]])) == 1
            assert (np.diff(steps.reach[own]) > 0).all()
            assert steps.reach[own][-1] == pytest.approx(1, abs=1e-12)
            met += steps.to[own].tolist()
        begin, index = order.csr
        assert sorted(met) == index[begin[person] : begin[person + 1]].tolist()
        assert len(parts) == len(set(sens[met]))


def test_a_walk_depends_on_nothing_that_it_does_not_meet() -> None:
    graph = uneven()
    # The edge between rows 5 and 6 is gone.
    ends = graph.edge_index
    kept = ~(((ends[0] == 5) & (ends[1] == 6)) | ((ends[0] == 6) & (ends[1] == 5)))
    other = graph.replace(edge_index=ends[:, kept])
    config = FairWalkConfig(length=4)
    one, two = (Walker(of, config, seed=3) for of in (graph, other))
    rows = graph.canonical.rows.numpy()
    same = 0
    for number in range(50):
        for before, after in zip(one.walks(number), two.walks(number), strict=True):
            steps = rows[before[:-1][before[:-1] >= 0]]
            if not {5, 6} & set(steps.tolist()):
                assert (before == after).all()
                same += 1
    assert same > 20


def by_hand(
    walks: NDArray[np.int32],
    draws: list[int],
    vectors: NDArray[np.float64],
    contexts: NDArray[np.float64],
    *,
    learns: bool,
) -> float:
    """Window 2, one negative, rate 0.1; `draws` are the others in the order of their use."""
    losses, drawn = [], iter(draws)
    for walk in walks.tolist():
        for at, person in enumerate(walk):
            for near in (at - 2, at - 1, at + 1, at + 2):
                if person < 0 or not 0 <= near < len(walk) or walk[near] < 0:
                    continue
                loss, change = 0.0, np.zeros(vectors.shape[1])
                negative = next(drawn)
                pairs = [(walk[near], 1.0)] + [(negative, 0.0)] * (negative != walk[near])
                for other, wanted in pairs:
                    share = 1 / (1 + np.exp(-vectors[person] @ contexts[other]))
                    loss -= np.log(share if wanted else 1 - share)
                    change += 0.1 * (wanted - share) * contexts[other]
                    if learns:
                        contexts[other] += 0.1 * (wanted - share) * vectors[person]
                vectors[person] += change
                losses.append(loss)
    return float(np.mean(losses))


@pytest.mark.parametrize("learns", [True, False])
def test_skip_grams_are_those_of_a_loop(learns: bool) -> None:
    rng = np.random.default_rng(0)
    walks = rng.integers(5, size=(4, 6)).astype(np.int32)
    walks[1, 3:] = -1
    vectors, contexts = rng.normal(size=(2, 5, 3))
    states = node_hash(np.arange(4), 7, "others")
    noise = np.cumsum([0.1, 0.3, 0.2, 0.1, 0.3])
    noise /= noise[-1]
    draws: list[int] = []
    for walk, state in zip(walks, states, strict=True):
        count = 0
        for at in range(6):
            around = [near for near in range(max(0, at - 2), min(6, at + 3)) if near != at]
            count += sum(walk[near] >= 0 for near in around) * (walk[at] >= 0)
        for _ in range(count):
            with np.errstate(over="ignore"):
                state = state + np.uint64(0x9E3779B97F4A7C15)
            draws.append(int((noise > uniform(state)).argmax()))
    v, c = vectors.astype(np.float32), contexts.astype(np.float32)
    found = skip_gram(walks, states, 2, 1, 0.1, v, c, np.arange(5), noise, learns)
    expected = by_hand(walks, draws, vectors, contexts, learns=learns)
    assert found == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(v, vectors, atol=1e-5)
    np.testing.assert_allclose(c, contexts, atol=1e-5)


def uniform(state: np.uint64) -> float:
    """The finaliser of SplitMix64 in Python's own integers."""
    bits, mask = int(state), 2**64 - 1
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 & mask
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB & mask
    return float((bits ^ (bits >> 31)) >> 11) * 2.0**-53


def test_whoever_has_no_context_teaches_nobody() -> None:
    walks = np.array([[0, 1, 2]], dtype=np.int32)
    v, c = np.zeros((3, 2), dtype=np.float32), np.ones((2, 2), dtype=np.float32)
    states, noise = node_hash(np.arange(1), 0, ""), np.array([0.5, 1.0])
    skip_gram(walks, states, 1, 1, 0.1, v, c, np.array([0, -1, 1]), noise, False)
    # Those beside somebody without a context have learned nothing, and that one from both.
    assert (v[[0, 2]] == 0).all()
    assert (v[1] != 0).all()
    assert (c == 1).all()


def test_somebody_new_has_a_vector_and_others_keep_theirs() -> None:
    graph = split_of().input
    model = fitted("fairwalk")
    assert isinstance(model, FairWalk)
    z = model.embed(graph)
    ids = graph.node_id.clone()
    ids[4] = 10_000
    other = model.embed(graph.replace(node_id=ids))
    assert np.isfinite(other).all()
    met = torch.unique(graph.edge_index[0]).numpy()
    assert 4 in met
    # Whoever is alone has learned nothing.
    assert (np.delete(z, met, axis=0) == 0).all()
    assert (other[met] != 0).any(axis=1).all()
    # Vectors stay in the same space: cosines with those of before are near 1.
    one, two = (of[met] / np.linalg.norm(of[met], axis=1, keepdims=True) for of in (z, other))
    assert np.median((one * two).sum(axis=1)) > 0.8


def test_a_fit_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    split, write, due = split_of(), Checkpoint.write, []

    def written(self: Checkpoint, *given: Any) -> None:
        write(self, *given)
        raise Stopped

    def after_some(self: Checkpoint) -> bool:
        due.append(self)
        return len(due) == 5

    with (
        patch.object(Checkpoint, "write", written),
        patch.object(Checkpoint, "due", after_some),
        pytest.raises(Stopped),
    ):
        new("fairwalk").fit(split, checkpoint=tmp_path)
    rounds: list[int] = []
    learn = Walker.learn

    def noted(self: Walker, number: int, *given: Any, **more: Any) -> float:
        rounds.append(number)
        return learn(self, number, *given, **more)

    with patch.object(Walker, "learn", noted):
        model = new("fairwalk").fit(split, checkpoint=tmp_path)
    assert rounds[: SMALL["walks"] - 5] == list(range(5, SMALL["walks"]))
    ends = split.test.ends
    np.testing.assert_array_equal(
        model.score(split.input, ends), fitted("fairwalk").score(split.input, ends)
    )
    assert not list(tmp_path.iterdir())


def test_the_rate_falls_to_a_twentieth() -> None:
    config = FairWalkConfig(walks=11, learning_rate=0.2)
    rates = [config.rate(number) for number in range(11)]
    np.testing.assert_allclose(rates, np.linspace(0.2, 0.01, 11))
