"""What holds for every method for links."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.links import LINK_METHODS, LinkSplit, Pairs, load_link_model
from fairgear.links.base import Floats
from fairgear.links.methods import LinkMethod
from fairgear.links.methods.nodes import WITH_NUMBERS
from fairgear.links.origin import SplitOrigin
from fairgear.methods import load_model
from fairgear.methods.saved import ABOUT, WEIGHTS
from tests.links.methods.graphs import NETWORKS, fitted, new, split_of

NAMES = tuple(LINK_METHODS)
KINDS = ("homophilous", "directed", "weighted", "groups", "number")
# Methods that need groups.
GROUPS_ONLY = ("fairdrop", "fairwalk")


def scores(model: LinkMethod, split: LinkSplit) -> Floats:
    return model.score(split.input, split.test.ends)


def pairs_of(name: str) -> list[tuple[str, str]]:
    return [(name, kind) for kind in KINDS if kind != "number" or name not in GROUPS_ONLY]


EVERY = [pair for name in NAMES for pair in pairs_of(name)]


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_a_block_has_the_scores_of_its_pairs(name: str, kind: str) -> None:
    split, model = split_of(kind), fitted(name, kind)
    scorer, n = model.scorer(split.input), len(split.graph.x)
    rows = torch.tensor([5, 0, 17])
    block = scorer.block(rows)
    assert block.shape == (3, n)
    assert block.dtype == np.float64
    for row, found in zip(rows.tolist(), block, strict=True):
        others = torch.tensor([other for other in range(n) if other != row])
        ends = torch.stack([torch.full_like(others, row), others])
        np.testing.assert_allclose(found[others], scorer.pairs(ends), atol=1e-5)
        assert found[row] == -np.inf
    finite = block[np.isfinite(block)]
    assert len(finite) == 3 * (n - 1)
    assert finite.min() >= 0
    assert finite.max() <= 1


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_both_orders_of_a_pair_are_one_unless_edges_have_directions(name: str, kind: str) -> None:
    split, model = split_of(kind), fitted(name, kind)
    scorer, ends = model.scorer(split.input), split.test.ends
    there, back = scorer.pairs(ends), scorer.pairs(ends.flip(0))
    same = bool((there == back).all())
    assert same == (kind != "directed")


@pytest.mark.parametrize(("name", "kind"), EVERY)
def test_a_saved_model_is_the_same(name: str, kind: str, tmp_path: Path) -> None:
    split, model = split_of(kind), fitted(name, kind)
    model.save(tmp_path)
    loaded = load_link_model(tmp_path, device="cpu")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert (loaded.threshold_, loaded.groups_) == (model.threshold_, model.groups_)
    assert loaded.origin_ == model.origin_ == SplitOrigin.of(split)
    np.testing.assert_array_equal(scores(loaded, split), scores(model, split))
    again = type(model).load(tmp_path, device="cpu")
    np.testing.assert_array_equal(scores(again, split), scores(model, split))


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_refused(name: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path)
    about = (tmp_path / ABOUT).read_text()
    (tmp_path / ABOUT).write_text(about.replace('"seed": 0', '"seed": 1'))
    with pytest.raises(FileError, match="other content"):
        load_link_model(tmp_path)
    (tmp_path / ABOUT).write_text(about)
    held = bytearray((tmp_path / WEIGHTS).read_bytes())
    held[-3] ^= 1
    (tmp_path / WEIGHTS).write_bytes(held)
    with pytest.raises(FileError, match="other content"):
        load_link_model(tmp_path)


def test_a_model_of_links_is_none_of_people_nor_of_another_method(tmp_path: Path) -> None:
    fitted("gear").save(tmp_path)
    with pytest.raises(FileError, match="a model of links; allowed: one of people"):
        load_model(tmp_path)
    kind = LINK_METHODS["gcn"]
    assert issubclass(kind, LinkMethod)
    with pytest.raises(FileError, match="a model of the method 'gear'"):
        kind.load(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_changes_nothing(name: str) -> None:
    split = split_of()
    n = len(split.graph.x)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(3))
    place = torch.empty_like(order)
    place[order] = torch.arange(n)

    def moved(pairs: Pairs) -> Pairs:
        # In another order, and with first and second end exchanged.
        back = torch.arange(len(pairs)).flip(0)
        return Pairs(place[pairs.ends].flip(0)[:, back], pairs.linked[back])

    parts = (moved(part) for part in (split.train, split.val, split.test))
    other = LinkSplit(split.graph.permute(order), *parts)
    model = new(name).fit(other)
    found = scores(model, other)[::-1]
    np.testing.assert_array_equal(found, scores(fitted(name), split))
    assert model.threshold_ == fitted(name).threshold_
    rows = torch.tensor([4, 11])
    here = fitted(name).scorer(split.input).block(rows)
    there = model.scorer(other.input).block(place[rows])
    np.testing.assert_array_equal(there[:, place], here)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_repeated_to_the_bit(name: str) -> None:
    split = split_of()
    again = new(name).fit(split)
    np.testing.assert_array_equal(scores(again, split), scores(fitted(name), split))
    # And by one that was used before, with other settings of another kind of graph.
    used = new(name).fit(split_of("weighted")).fit(split)
    np.testing.assert_array_equal(scores(used, split), scores(fitted(name), split))


@pytest.mark.parametrize("name", NAMES)
def test_test_pairs_and_labels_are_never_read(name: str) -> None:
    split = split_of()
    graph = split.graph.replace(y=torch.randint(2, split.graph.y.shape))
    assert bool((split.graph.y == -1).all())
    flipped = Pairs(split.test.ends, 1 - split.test.linked)
    other = LinkSplit(graph, split.train, split.val, flipped)
    model = new(name).fit(other)
    np.testing.assert_array_equal(scores(model, other), scores(fitted(name), split))


@pytest.mark.parametrize("name", NAMES)
def test_the_threshold_is_the_most_accurate_on_the_validation_pairs(name: str) -> None:
    split, model = split_of(), fitted(name)
    found, linked = model.score(split.input, split.val.ends), split.val.linked.numpy()

    def accuracy(threshold: float) -> float:
        return float(((found > threshold) == linked).mean())

    assert model.threshold_ is not None
    best = max(accuracy(cut) for cut in np.concatenate([found, [0.5, -1]]))
    assert accuracy(model.threshold_) == best
    predicted = model.predict(split.input, split.val.ends)
    assert (predicted == linked).mean() == best


@pytest.mark.parametrize("name", [name for name in NAMES if name != "preferential-attachment"])
def test_links_are_learned(name: str) -> None:
    split = split_of()
    model = fitted(name, steps=150, head="mlp") if name in NETWORKS else fitted(name)
    assert roc_auc_score(split.test.linked, scores(model, split)) > 0.75


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_scikit_learn(name: str) -> None:
    model = new(name, seed=4)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(seed=5) is model
    assert repr(model).startswith(f"{type(model).__name__}(")
    assert "seed=5" in repr(model)
    with pytest.raises(ParameterError, match="correct the name"):
        model.set_params(fairness=1)
    with pytest.raises(NotFittedError, match=r"call fit\(split\)"):
        model.save("nowhere")


@pytest.mark.parametrize("name", GROUPS_ONLY)
def test_a_number_is_refused_where_groups_are_needed(name: str) -> None:
    with pytest.raises(GraphError, match="use one of gear, graphsage"):
        new(name).fit(split_of("number"))
    assert set(WITH_NUMBERS) < set(NAMES) - set(GROUPS_ONLY)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_of_one_kind_are_refused(name: str) -> None:
    split = split_of()
    linked = Pairs(split.val.ends, torch.ones_like(split.val.linked))
    with pytest.raises(GraphError, match="some that are linked"):
        new(name).fit(LinkSplit(split.graph, split.train, linked, split.test))


@pytest.mark.parametrize("name", NAMES)
def test_pairs_that_are_none_are_refused(name: str) -> None:
    split = split_of()
    scorer = fitted(name).scorer(split.input)
    with pytest.raises(ParameterError, match="row 4 with itself"):
        scorer.pairs(torch.tensor([[1, 4], [2, 4]]))
    with pytest.raises(ParameterError, match="rows from 0 to 149"):
        scorer.pairs(torch.tensor([[1], [150]]))


def other_columns(graph: SensitiveGraph) -> SensitiveGraph:
    return graph.replace(x=graph.x[:, 1:], sens_column=2, feature_names=graph.feature_names[1:])


@pytest.mark.parametrize("name", ["gear", "graphsage", "logistic"])
def test_a_graph_with_other_columns_is_refused(name: str) -> None:
    with pytest.raises(GraphError, match="columns"):
        fitted(name).scorer(other_columns(split_of().input))
