"""Saved models of the methods that see no graph, and the files, graphs and settings they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.methods.baselines.linear import LinearLogits
from fairgear.methods.baselines.tabular import (
    Boosting,
    BoostingConfig,
    Logistic,
    LogisticConfig,
    LogisticProjected,
    LogisticResidual,
    Tabular,
)
from fairgear.methods.loading import load_model
from fairgear.settings import Config
from fairgear.tensor_files import read_tensors, write_tensors
from tests.methods.baselines import tabular_people
from tests.methods.baselines.tabular_people import every_method, small

people, models = tabular_people.people, tabular_people.models


@every_method
def test_a_saved_model_comes_back_exactly(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    model = small(kind, seed=3, threshold="validation").fit(people)
    model.save(tmp_path / "one")
    back = load_model(tmp_path / "one", device="cpu")
    assert type(back) is kind
    assert np.array_equal(back.predict_proba(people), model.predict_proba(people))
    assert np.array_equal(back.predict(people), model.predict(people))
    assert np.array_equal(back.embed(people), model.embed(people))
    assert back.get_params() == model.get_params() | {"device": "cpu"}
    assert back.__dict__.keys() == model.__dict__.keys()
    for name in ("C_", "trees_", "threshold_"):
        assert getattr(back, name, None) == getattr(model, name, None)
    back.save(tmp_path / "two")
    for name in ("model.json", "weights.safetensors"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def damage(name: str, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    what, _, how = name.partition(" ")
    if what in facts:
        facts[what] = {"none": None, "wrong": 2.5, "outside": 26}[how]
    elif how == "missing":
        del tensors[what]
    elif how == "short":
        tensors[what] = tensors[what][:-1]
    elif how == "flat":
        tensors[what] = tensors[what].sum()
    else:
        tensors[what][0] = {"below": -1, "above": 10**6}[how]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((Logistic, f"features {how}") for how in ("none", "wrong")),
        *((Logistic, f"sens_column {how}") for how in ("wrong", "outside")),
        (Logistic, "C none"),
        *((Logistic, f"classifier.w {how}") for how in ("missing", "short")),
        (LogisticResidual, "features.v short"),
        (LogisticProjected, "features.erasure.u missing"),
        *((Boosting, f"classifier.value {how}") for how in ("missing", "short", "flat")),
        (Boosting, "classifier.root missing"),
        *((Boosting, f"classifier.root {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.left {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.right {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.feature {how}") for how in ("below", "above")),
    ],
    ids=str,
)
def test_damaged_models_are_refused(
    kind: type[Tabular], name: str, models: dict[type[Tabular], Tabular], tmp_path: Path
) -> None:
    models[kind].save(tmp_path)
    path = tmp_path / "weights.safetensors"
    tensors, facts = read_tensors(path)
    damage(name, facts, tensors)
    write_tensors(path, tensors, facts)
    with pytest.raises(FileError, match=r"^[^\n]*weights[^\n]*$"):
        load_model(tmp_path)


@every_method
def test_graphs_that_cannot_be_learned_from_are_refused(
    kind: type[Tabular], people: SensitiveGraph
) -> None:
    with pytest.raises(GraphError, match="validation nodes: got no node"):
        small(kind).fit(people.replace(val_mask=torch.zeros_like(people.val_mask)))
    with pytest.raises(GraphError, match="class among the training nodes: got 1"):
        small(kind).fit(people.replace(y=torch.ones_like(people.y)))
    with pytest.raises(ParameterError, match=r"^device: got 'nosuch'"):
        small(kind, device="nosuch").fit(people)


@every_method
def test_x_of_s_alone_is_refused(kind: type[Tabular], people: SensitiveGraph) -> None:
    only = people.replace(x=people.x[:, :1], feature_names=["s"])
    with pytest.raises(GraphError, match=r"^features to learn from: got none but [^\n]*$"):
        small(kind).fit(only)


def test_a_fit_that_fails_leaves_no_fitted_model(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Logistic(C=1.0).fit(people)

    def broken(*given: object) -> None:
        raise RuntimeError("stopped on purpose")

    monkeypatch.setattr(LinearLogits, "of", broken)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(people)
    with pytest.raises(NotFittedError):
        model.predict(people)


@every_method
def test_settings_changed_after_fitting_wait_for_the_next_fit(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    model = small(kind).fit(people)
    scores = model.predict_proba(people)
    change = {"trees": 3, "depth": 1} if kind is Boosting else {"C": 0.001}
    model.set_params(**change)
    assert np.array_equal(model.predict_proba(people), scores)
    model.save(tmp_path)
    assert np.array_equal(load_model(tmp_path).predict_proba(people), scores)
    assert not np.allclose(model.fit(people).predict_proba(people), scores, atol=1e-3)


@every_method
def test_a_checkpoint_folder_is_left_alone(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    small(kind).fit(people, checkpoint=tmp_path / "nosuch")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *((LogisticConfig, "C", value) for value in (0, -1.0, float("inf"), "1", True)),
        *((BoostingConfig, "trees", value) for value in (0, 2.5, 10**6)),
        *((BoostingConfig, "depth", value) for value in (0, None, 33)),
        *((BoostingConfig, "learning_rate", value) for value in (0.0, 1.5, float("nan"))),
        *((kind, "threshold", "best") for kind in (LogisticConfig, BoostingConfig)),
        *((kind, "nosuch", 1) for kind in (LogisticConfig, BoostingConfig)),
    ],
)
def test_impossible_settings_are_refused(kind: type[Config], name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^[^\n]*{name}[^\n]*$"):
        kind.from_dict({name: value})
