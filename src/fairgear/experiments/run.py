"""One run: load, train, evaluate, save, report. Interrupted, it goes on where it stopped."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fairgear import datasets
from fairgear.auditing import Evaluation, Worlds, evaluate_in, generator_error
from fairgear.auditing.any_model import names_of
from fairgear.causal import SyntheticMechanism
from fairgear.experiments.last_worlds import LastWorlds
from fairgear.experiments.predictions import write_predictions
from fairgear.experiments.provenance import Stages, provenance
from fairgear.experiments.run_config import RunConfig
from fairgear.experiments.run_folder import RunFolder
from fairgear.files import json_ready, write_json
from fairgear.graph import SensitiveGraph
from fairgear.graph.convert.encoding import ENCODING
from fairgear.methods import METHODS, Gear, Method
from fairgear.methods.base import check_trainable
from fairgear.ranks import ranks
from fairgear.training import History


def execute(
    config: RunConfig, folder: RunFolder, worlds: LastWorlds | None = None
) -> dict[str, Any]:
    """Everything but the page; returns what `metrics.json` holds.

    Args:
        config: what to run.
        folder: where the results go.
        worlds: shared with other runs; the results are the same without.
    """
    method = METHODS[config.method]
    model: Method = method(seed=config.seed, device=config.device, **config.method_settings())
    device = model.torch_device().type
    stages = Stages()
    with stages.stage("loading the graph"):
        graph = config.load()
    # Before the folder is made: what cannot be trained on must leave nothing behind.
    check_trainable(graph)
    ranks().of_first(lambda: folder.claim(config))
    with stages.stage("training"):
        model = _trained(model, graph, folder)
        if "encoding" in graph:
            graph.encoding.write(folder.model / ENCODING)
    with stages.stage("evaluation"):
        asked = (worlds or LastWorlds()).of(graph, config.seed, config.released_share)
        evaluation = evaluate_in(asked, model, self_people=config.self_people)
        details = _details(model, asked, evaluation)
    measured = evaluation.to_dict()
    results: dict[str, Any] = {
        "metrics": measured["metrics"],
        "intervals": measured["intervals"],
        "config": config.to_dict(),
        "provenance": {
            **provenance(config.seed, graph.fingerprint(), stages),
            "device": device,
        },
        "details": details,
    }
    write_predictions(folder.predictions, model, graph, evaluation)
    write_json(folder.metrics, results)
    folder.clear_checkpoint()
    ready: dict[str, Any] = json_ready(results)
    return ready


def _trained(model: Method, graph: SensitiveGraph, folder: RunFolder) -> Method:
    """The model, trained now or, where an earlier run got that far, loaded."""
    if ranks().of_first((folder.model / "model.json").exists):
        return type(model).load(folder.model, device=model.device)
    model.fit(graph, checkpoint=folder.checkpoint)
    model.save(folder.model)
    return model


def _generator(model: Method, graph: SensitiveGraph) -> dict[str, Any] | None:
    """How good the counterfactual egos are that a Gear was trained on; None for all others."""
    if not isinstance(model, Gear) or model.generator_report_ is None:
        return None
    found = asdict(model.generator_report_)
    if isinstance(graph.mechanism, SyntheticMechanism):
        error = generator_error(model, graph)
        found["feature_error"] = error.feature_error
        found["edge_precision"] = error.edge_precision
        found["edge_recall"] = error.edge_recall
    return found


def _details(model: Method, worlds: Worlds, evaluation: Evaluation) -> dict[str, Any]:
    graph, measured = worlds.graph, evaluation.to_dict()
    kept: dict[str, History] = getattr(model, "history_", {})
    return {
        "flips": measured["flips"],
        "groups": measured["groups"],
        "generator": _generator(model, graph),
        "history": {name: rows.as_dict() for name, rows in kept.items()},
        "graph": asdict(datasets.statistics(graph)),
        "names": names_of(graph),
        "notes": measured["notes"],
        "diagnostics": None if worlds.causal_model is None else worlds.diagnostics.to_dict(),
    }
