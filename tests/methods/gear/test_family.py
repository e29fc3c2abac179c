"""The family of causal models, and people as it moves them, against computations of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import Gear, SensitiveGraph
from fairgear.causal import (
    FEATURE_MODELS,
    Columns,
    FeatureSequential,
    SyntheticSettings,
    sample,
)
from fairgear.errors import FairgearError, GraphError, ParameterError
from fairgear.graph import split
from fairgear.methods.baselines.neighbors import Links
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.config import FAMILY, GearConfig
from fairgear.methods.gear.family import Family, MovedPeople, learners, models_of
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.ranks import RankScores
from tests.graphs import random_graph

DIAGRAM = "parents: {x2: [x1, x0], x0: [x1]}\n"
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def people() -> SensitiveGraph:
    """Groups that differ, a column of shared values, and few enough that every value is a knot."""
    graph = random_graph(n=240, edges=400, seed=3, d=6)
    x = graph.x.clone()
    x[:, 0] += 1.5 * graph.sens
    x[:, 2] = (2 * x[:, 2] + graph.sens).round()
    x[:, 3] = (x[:, 3] * (1 + graph.sens)).exp()
    return graph.replace(x=x)


def family_of(
    graph: SensitiveGraph, names: tuple[str, ...] = FAMILY, seed: int = 7, views: bool = True
) -> Family:
    scaler = FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph, graph.canonical.rows)
    ranks = RankScores(len(scaler.mean)).fit(scaler(graph)[graph.canonical.rows])
    models = [FEATURE_MODELS[name]() for name in names]
    return Family.fit(models, graph, learners(graph), scaler, ranks, seed, views)


def reordered(graph: SensitiveGraph) -> tuple[SensitiveGraph, Tensor]:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(5))
    return graph.permute(order), order


def moved_rows(graph: SensitiveGraph, seed: int, names: tuple[str, ...] = FAMILY) -> list[Floats]:
    """Everybody in the other group, by each model as fitted to the training people."""
    table, sens = graph.x.double().numpy(), graph.sens.numpy()
    train = graph.train_mask.numpy()
    assert min(np.bincount(sens[train])) >= 30
    return [
        FEATURE_MODELS[name]()
        .fit(table, sens, Columns.of(graph), train)
        .moved(table, sens, 1 - sens, graph.node_id, seed=seed)
        for name in names
    ]


def standardised(of: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Rows as numbers of standard deviations, and as interpolated ranks, of the columns `of`."""
    of, rows = np.delete(of, 1, axis=1), np.delete(rows, 1, axis=1)
    ranks = np.empty_like(rows)
    for place, (column, values) in enumerate(zip(of.T, rows.T, strict=True)):
        known, counts = np.unique(column, return_counts=True)
        middle = np.cumsum(counts) - counts / 2
        own = np.interp(column, known, middle)
        ranks[:, place] = (np.interp(values, known, middle) - own.mean()) / own.std()
    return (rows - of.mean(axis=0)) / of.std(axis=0), ranks


def view(of: Floats, rows: Floats) -> Floats:
    """Rows as a person is seen alone: values up to 8 standard deviations, then ranks."""
    values, ranks = standardised(of, rows)
    return np.hstack([values.clip(-8, 8), ranks])


def assert_seen(found: Tensor, expected: Floats) -> None:
    """Values and ranks are as expected; knots of ranks are in single precision."""
    np.testing.assert_allclose(found[:, :5], expected[:, :5], atol=1e-4)
    np.testing.assert_allclose(found[:, 5:], expected[:, 5:], atol=0.01)


def test_people_are_seen_half_as_they_are_and_half_as_the_models_move_them(
    people: SensitiveGraph,
) -> None:
    table = people.x.double().numpy()
    seen = family_of(people).seen_in(people)
    assert seen.shape == (240, 10)
    assert seen.dtype == torch.float32
    moved = moved_rows(people, 7 + 2**40)
    assert_seen(seen, view(table, table) / 2 + sum(view(table, one) / 6 for one in moved))
    assert abs(standardised(table, moved[2])[0]).max() > 8, "nobody is far enough to be cut off"


def test_without_views_people_are_seen_as_they_are(people: SensitiveGraph) -> None:
    table = people.x.double().numpy()
    assert_seen(family_of(people, views=False).seen_in(people), view(table, table))


def test_the_seed_decides_where_people_who_share_a_value_are_moved(people: SensitiveGraph) -> None:
    # The shift has no noise; a quantile that several people share is drawn.
    for name, decides in (("shift", False), ("quantile", True)):
        one, other = (family_of(people, (name,), seed).seen_in(people) for seed in (7, 8))
        # Column 2 alone has shared values: without s it is the second of five.
        differ = (one != other).any(dim=0).nonzero()[:, 0].tolist()
        assert differ == ([1, 6] if decides else [])


def test_some_rows_and_pieces_are_seen_as_all_are(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(people)
    whole = family.seen_in(people)
    monkeypatch.setattr("fairgear.methods.gear.family._CHUNK", 7)
    some = torch.tensor([200, 3, 3, 11, 0, 17, 80, 90, 239])
    assert torch.equal(family.seen_in(people), whole)
    assert torch.equal(family.seen_in(people, some), whole[some])
    with pytest.raises(GraphError, match="columns"):
        family.seen_in(random_graph(n=30, d=5))


def test_noise_is_not_that_of_an_audit_with_the_same_seed(people: SensitiveGraph) -> None:
    family = family_of(people)
    audits = moved_rows(people, 7)
    same = [
        np.array_equal(
            family.moved(one, people.x, people.sens, 1 - people.sens, people.node_id).numpy(), audit
        )
        for one, audit in enumerate(audits)
    ]
    # The shift has no noise; a quantile that several people share is drawn.
    assert same[FAMILY.index("shift")]
    assert not same[FAMILY.index("quantile")]


def test_who_is_moved_by_a_single_model_that_leads_back_gets_the_same_answer(
    people: SensitiveGraph,
) -> None:
    family = family_of(people, ("shift",))
    assert family.models[0].composes
    new = family.moved(0, people.x, people.sens, 1 - people.sens, people.node_id)
    factual = family.seen(people.x, people.sens, people.node_id)
    moved = family.seen(new, 1 - people.sens, people.node_id)
    torch.testing.assert_close(moved, factual, atol=1e-4, rtol=0)
    torch.manual_seed(0)
    network = GearNetwork(family.width, GearConfig(dim=8)).eval()
    neighbors = Links.of(people.canonical).everyone.neighbors

    def logits(seen: Tensor) -> Tensor:
        found: Tensor = network(seen[people.canonical.rows], neighbors)[1].detach()
        return found

    expected = logits(factual)
    torch.testing.assert_close(logits(moved), expected, atol=1e-4, rtol=0)
    # Features alone would be noticed: then the other half is not that of the same person.
    alone = family.seen(new, people.sens, people.node_id)
    assert not torch.allclose(logits(alone), expected, atol=1e-2)
    # Half of the people moved, the others as they were: nobody's answer changes either.
    half = torch.arange(len(moved))[:, None] % 2 == 0
    mixed = torch.where(half, moved, factual)
    torch.testing.assert_close(logits(mixed), expected, atol=1e-4, rtol=0)


def learned(family: Family) -> dict[str, Tensor]:
    return family.state()[0]


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


def test_maps_are_learned_from_training_people_alone(people: SensitiveGraph) -> None:
    train = people.train_mask
    low, high = people.x[train].amin(dim=0), people.x[train].amax(dim=0)
    inside = people.replace(x=people.x.clamp(low, high))
    expected = learned(family_of(inside))

    def with_zeros(rows: Tensor) -> SensitiveGraph:
        """Some people without features; the ends of the columns stay."""
        x = inside.x.clone()
        x[rows] = 0
        x[:, 1] = inside.x[:, 1]
        return inside.replace(x=x.clamp(low, high))

    assert same(learned(family_of(with_zeros(~train))), expected)
    assert not same(learned(family_of(with_zeros(train.nonzero()[5:9, 0]))), expected)
    moved, _ = reordered(inside)
    assert same(learned(family_of(moved)), expected)


@pytest.mark.parametrize(("people", "who"), [(600, "train"), (150, "train and val"), (60, "all")])
def test_maps_are_learned_from_more_people_where_a_group_has_few(people: int, who: str) -> None:
    graph, _ = reordered(random_graph(n=people, edges=2 * people, seed=2))
    ids = graph.node_id[torch.from_numpy(learners(graph))[graph.canonical.rows.argsort()]]
    # Parts are every third of the ids.
    parts = {"train": {0}, "train and val": {0, 1}, "all": {0, 1, 2}}[who]
    assert set(ids.tolist()) == {one for one in range(people) if one % 3 in parts}


@pytest.mark.parametrize(
    ("causal", "names"),
    [
        ("family", ["shift", "quantile", "gaussian"]),
        ("quantile+gaussian", ["quantile", "gaussian"]),
        ("gaussian, shift", ["gaussian", "shift"]),
        (" sequential ", ["sequential"]),
    ],
)
def test_a_setting_names_its_models(causal: str, names: list[str]) -> None:
    found = models_of(causal)
    assert [model.identity for model in found] == names
    assert not any(model.fitted for model in found)


def test_a_file_is_a_diagram(tmp_path: Path) -> None:
    path = tmp_path / "Believed.YAML"
    path.write_text(DIAGRAM)
    (model,) = models_of(str(path))
    assert isinstance(model, FeatureSequential)
    assert model.diagram is not None
    assert model.diagram.parents["x2"] == ("x1", "x0")


@pytest.mark.parametrize("causal", ["nosuch", "shift+nosuch", "shift+shift", "", "family+shift"])
def test_what_names_no_model_is_refused_in_one_line(causal: str) -> None:
    with pytest.raises(ParameterError, match=rf"^causal: got '{causal}'".replace("+", r"\+")) as at:
        models_of(causal)
    assert "\n" not in str(at.value)
    assert all(name in str(at.value) for name in FEATURE_MODELS)


def test_a_file_that_is_no_diagram_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "diagram.yaml"
    for text in (None, "- 3", "parents: {x0: [x2], x2: [x0]}"):
        if text is not None:
            path.write_text(text)
        with pytest.raises(FairgearError, match=r"^diagram [^\n]*diagram\.yaml[^\n]*$"):
            models_of(str(path))


def asked(moved: MovedPeople, graph: SensitiveGraph, model: int, draw: int) -> Tensor:
    """What it gives for everybody, in the order of the graph."""
    which = torch.ones(len(graph.x), dtype=torch.long)
    return moved(graph.canonical.numbers, model * which, draw * which)


def test_moved_people_are_seen_as_the_family_sees_them(people: SensitiveGraph) -> None:
    graph, _ = reordered(people)
    family = family_of(graph)
    moved = MovedPeople(family, graph, seed=7)
    assert (moved.models, moved.draws) == (3, 6)
    for number, rows in enumerate(moved_rows(graph, 7 + 2**40)):
        new = torch.from_numpy(rows)
        expected = family.seen(new, 1 - graph.sens, graph.node_id)
        assert torch.equal(asked(moved, graph, number, draw=0), expected)
    # Each person has a model and a draw.
    places = graph.canonical.numbers[torch.tensor([3, 9, 9])]
    found = moved(places, torch.tensor([1, 2, 0]), torch.tensor([0, 5, 3]))
    for place, (person, model, draw) in enumerate([(3, 1, 0), (9, 2, 5), (9, 0, 3)]):
        assert torch.equal(found[place], asked(moved, graph, model, draw)[person])


def test_later_draws_are_fitted_to_thirds_of_the_learners(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(people)
    masks: list[NDArray[np.bool_]] = []
    seeds: list[int] = []
    fit = Family.fit.__func__  # type: ignore[attr-defined]  # the function behind the classmethod

    def spy(models: Any, graph: Any, some: Any, scaler: Any, ranks: Any, seed: int) -> Family:
        masks.append(some)
        seeds.append(seed)
        made: Family = fit(Family, models, graph, some, scaler, ranks, seed)
        return made

    monkeypatch.setattr(Family, "fit", spy)
    moved = MovedPeople(family, people, seed=7)
    assert len(masks) == moved.draws - 1 == 5
    train = people.train_mask.numpy()
    for mask in masks:
        assert not (mask & ~train).any()
        assert 0.15 < mask.sum() / train.sum() < 0.55
    assert len({mask.tobytes() for mask in masks}) == len(set(seeds)) == len(masks)
    table, sens = people.x.double().numpy(), people.sens.numpy()
    model = FEATURE_MODELS["gaussian"]().fit(table, sens, Columns.of(people), masks[2])
    new = model.moved(table, sens, 1 - sens, people.node_id, seed=seeds[2] + 2**40)
    expected = family.seen(torch.from_numpy(new), 1 - people.sens, people.node_id)
    found = asked(moved, people, FAMILY.index("gaussian"), draw=3)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, asked(moved, people, FAMILY.index("gaussian"), 0), atol=0.1)


def test_thirds_without_a_group_are_left_out(people: SensitiveGraph) -> None:
    sens = torch.zeros_like(people.sens)
    sens[:2] = 1
    x = people.x.clone()
    x[:, 1] = sens
    graph = people.replace(x=x, sens=sens)
    moved = MovedPeople(family_of(graph, ("shift",)), graph, seed=0)
    first = asked(moved, graph, 0, 0)
    again = [torch.equal(asked(moved, graph, 0, draw), first) for draw in range(1, 6)]
    assert any(again)


def test_pieces_and_another_order_give_the_same_people_and_the_seed_decides(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(people)
    whole = MovedPeople(family, people, seed=7)
    graph, order = reordered(people)
    monkeypatch.setattr("fairgear.methods.gear.family._CHUNK", 50)
    moved = MovedPeople(family, graph, seed=7)
    other = MovedPeople(family, people, seed=8)
    for model in range(3):
        for draw in (0, 3):
            expected = asked(whole, people, model, draw)
            assert torch.equal(asked(moved, graph, model, draw), expected[order])
        # The seed is that of the thirds alone.
        same = [
            torch.equal(asked(other, people, model, draw), asked(whole, people, model, draw))
            for draw in range(6)
        ]
        assert same == [True] + [False] * 5


def test_large_graphs_have_fewer_draws(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = family_of(people)
    whole = MovedPeople(family, people, seed=7)
    # 240 people by 3 models, 10 columns each, in 4 bytes.
    each = 240 * 3 * 10 * 4
    for kept, draws in ((each // 2, 1), (3 * each, 3), (3 * each - 1, 2), (100 * each, 6)):
        monkeypatch.setattr("fairgear.methods.gear.family._KEPT", kept)
        some = MovedPeople(family, people, seed=7)
        assert some.draws == draws
        last = asked(some, people, 2, draws - 1)
        assert torch.equal(last, asked(whole, people, 2, draws - 1))


def test_a_family_comes_back_from_its_state(people: SensitiveGraph) -> None:
    family = family_of(people)
    tensors, facts = family.state()
    given = (family.scaler, family.ranks, True)
    back = Family.from_state(Path("weights"), tensors, facts, *given)
    assert torch.equal(back.seen_in(people), family.seen_in(people))
    name = "family.1.ends"
    with pytest.raises(FairgearError, match=rf"^weights {name} in weights[^\n]*$"):
        Family.from_state(Path("weights"), tensors | {name: tensors[name][:1]}, facts, *given)


def test_several_groups_are_seen_in_all_of_them_and_moved_to_each() -> None:
    """Views are the mean over groups of the mean over models; draws reach every other group."""
    graph = split(sample(SyntheticSettings(n=240, d_z=6, d=3, groups=3), seed=1), seed=0)
    gear = Gear(causal="shift+gaussian", steps=1, device="cpu").fit(graph)
    family, order = gear._family, graph.canonical.rows
    x, sens, ids = (of[order] for of in (graph.x, graph.sens, graph.node_id))
    seen = family.seen(x, sens, ids)
    table = x.double().numpy()
    views = [family._view(x)]
    for step in (1, 2):
        after = ((sens + step) % 3).numpy()
        moved = [m.moved(table, sens.numpy(), after, ids, seed=0) for m in family.models]
        views.append(torch.stack([family._view(torch.from_numpy(of)) for of in moved]).mean(dim=0))
    assert torch.allclose(seen, torch.stack(views).mean(dim=0), atol=1e-5)
    people = MovedPeople(family, graph, seed=3)
    everyone = torch.arange(240)
    targets = torch.stack([people.target(everyone, everyone * 0 + d) for d in range(people.draws)])
    assert (targets != sens).all()
    for group in range(3):
        assert set(targets[:, sens == group].flatten().tolist()) == {0, 1, 2} - {group}


def test_a_single_shift_of_several_groups_is_seen_exactly_alike() -> None:
    """Its maps compose, so that whoever is moved has the same views."""
    graph = split(sample(SyntheticSettings(n=240, d_z=6, d=3, groups=4), seed=1), seed=0)
    family = Gear(causal="shift", steps=1, device="cpu").fit(graph)._family
    x, sens, ids = graph.x, graph.sens, graph.node_id
    before = family.seen(x, sens, ids)[:, :3]
    for step in (1, 2, 3):
        target = (sens + step) % 4
        new = family.moved(0, x, sens, target, ids)
        assert torch.allclose(family.seen(new, target, ids)[:, :3], before, atol=1e-4)
