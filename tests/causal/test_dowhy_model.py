"""The set-up of DoWhy's notebook on counterfactual fairness, on data whose equations are known."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import fairgear as fg
from fairgear.causal import CausalModel, Diagram, SimilarityCausalModel
from fairgear.causal.dowhy_model import DowhyFeatures, frame_of
from fairgear.errors import FileError, ParameterError
from fairgear.graph import SensitiveGraph

gcm: Any = pytest.importorskip("dowhy.gcm")
N = 1500
EDGES = [("race", "lsat"), ("race", "gpa"), ("lsat", "grade"), ("gpa", "grade"), ("race", "job")]


@pytest.fixture(scope="module")
def law_school() -> tuple[SensitiveGraph, pd.DataFrame]:
    """Test scores and grades that follow from race, and a category; and everybody's other world."""
    rng = np.random.default_rng(0)
    race = rng.integers(0, 2, N)
    noise = rng.normal(size=(3, N))
    latent = rng.random(N)

    def world(s: Any) -> pd.DataFrame:
        lsat, gpa = 30 + 4 * s + noise[0], 3 - 0.5 * s + 0.3 * noise[1]
        job = np.where(latent < 0.3 + 0.3 * s, "clerk", np.where(latent < 0.8, "nurse", "smith"))
        grade = 0.1 * lsat + gpa + 0.2 * noise[2]
        return pd.DataFrame(
            {"race": s, "lsat": lsat, "gpa": gpa, "grade": grade, "job": job, "y": latent > 0.5}
        )

    graph = fg.graph.from_tables(world(race), label="y", sensitive="race", similarity=0.9)
    return graph, world(1 - race)


def table_of(graph: SensitiveGraph) -> Any:
    assert graph.raw is not None
    return graph.raw.numpy()


def fitted(frame: pd.DataFrame) -> Any:
    model = gcm.StructuralCausalModel(nx.DiGraph(EDGES))
    model.set_causal_mechanism("race", gcm.EmpiricalDistribution())
    for name in ("lsat", "gpa", "grade"):
        mechanism = gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor())
        model.set_causal_mechanism(name, mechanism)
    classifier = gcm.ml.create_logistic_regression_classifier()
    model.set_causal_mechanism("job", gcm.ClassifierFCM(classifier))
    gcm.config.disable_progress_bars()
    gcm.fit(model, frame)
    return model


@pytest.fixture(scope="module")
def features(law_school: tuple[SensitiveGraph, pd.DataFrame]) -> DowhyFeatures:
    return DowhyFeatures(fitted(frame_of(law_school[0])))


def test_a_linear_model_recovers_everybodys_other_world(
    law_school: tuple[SensitiveGraph, pd.DataFrame], features: DowhyFeatures
) -> None:
    graph, truth = law_school
    model = SimilarityCausalModel(features).fit(graph)
    table, sens = table_of(graph), graph.sens.numpy()
    moved = model.feature_model.moved(table, sens, 1 - sens, graph.node_id, seed=0)
    names = graph.feature_names
    for name, shift in (("lsat", 4.0), ("gpa", 0.5), ("grade", 0.4)):
        error = np.abs(moved[:, names.index(name)] - truth[name].to_numpy())
        assert error.max() < 0.1 * shift, name
    jobs = [k for k, name in enumerate(names) if name.startswith("job=")]
    assert (moved[:, jobs].sum(axis=1) == 1).all()
    shares = moved[sens == 0][:, jobs].mean(axis=0)
    assert np.allclose(shares, table[sens == 1][:, jobs].mean(axis=0), atol=0.05)
    assert "DoWhy" in model.notes[0]


def test_numbers_are_those_of_dowhy_itself(
    law_school: tuple[SensitiveGraph, pd.DataFrame],
) -> None:
    graph, _ = law_school
    frame = frame_of(graph).drop(columns="job")
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(EDGES[:4]))
    gcm.auto.assign_causal_mechanisms(model, frame)
    gcm.fit(model, frame)
    expected = gcm.counterfactual_samples(model, {"race": lambda s: 1 - s}, observed_data=frame)
    causal = SimilarityCausalModel(DowhyFeatures(model)).fit(graph)
    table, sens = table_of(graph), graph.sens.numpy()
    moved = causal.feature_model.moved(table, sens, 1 - sens, graph.node_id, seed=0)
    for name in ("lsat", "gpa", "grade"):
        got = moved[:, graph.feature_names.index(name)]
        assert np.allclose(got, expected[name], rtol=1e-8)


def test_one_row_moves_as_among_all_and_files_are_refused(
    law_school: tuple[SensitiveGraph, pd.DataFrame], features: DowhyFeatures, tmp_path: Any
) -> None:
    graph, _ = law_school
    model = SimilarityCausalModel(features).fit(graph)
    own, table, sens = model.feature_model, table_of(graph), graph.sens.numpy()
    everybody = own.moved(table, sens, 1 - sens, graph.node_id, seed=3)
    for row in range(0, N, 100):
        one = slice(row, row + 1)
        alone = own.moved(table[one], sens[one], 1 - sens[one], graph.node_id[one], seed=3)
        assert np.array_equal(alone[0], everybody[row])
    assert torch.equal(model.counterfactual(graph, graph.sens).x, graph.x)
    assert model.fingerprint() == SimilarityCausalModel(features).fit(graph).fingerprint()
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="DowhyFeatures"):
        CausalModel.load(tmp_path / "model")


def test_a_model_must_fit_the_table(law_school: tuple[SensitiveGraph, pd.DataFrame]) -> None:
    graph, _ = law_school
    frame = frame_of(graph)
    frame["wage"] = frame["lsat"]
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph([("race", "wage")]))
    with pytest.raises(ParameterError, match="'wage'"):
        SimilarityCausalModel(DowhyFeatures(model)).fit(graph)
    assert Diagram.from_networkx(model.graph).parents["wage"] == ("race",)
