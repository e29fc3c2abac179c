"""One run: load, train, audit, report. An interrupted run resumes where it stopped."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, replace

import pandas as pd

from fairgear.auditing import Audit, Training, Worlds, audit, generator_error
from fairgear.auditing.provenance import Stages
from fairgear.causal import SyntheticMechanism
from fairgear.distributed import on_rank0
from fairgear.evidence import TRAINED, folder_hashes, reading
from fairgear.graph import SensitiveGraph
from fairgear.graph.tables import ENCODING
from fairgear.methods import METHODS, Method
from fairgear.methods.ego_method import EgoMethod
from fairgear.methods.gear_paper.report import report_generator
from fairgear.methods.trainable import check_trainable
from fairgear.runs.config import RunConfig
from fairgear.runs.folder import RunFolder
from fairgear.runs.predictions import write_predictions
from fairgear.training import History

QUICK = (
    "This was a quick run: a few training steps and a smaller audit. It shows that everything "
    "works, not how good the method is."
)


class WorldsCache:
    """Lets successive runs on the same graph share its counterfactual worlds.

    Building them is most of an audit. Only those of one graph are kept: a study goes through its
    runs graph by graph, and the worlds of all graphs would not fit in memory.
    """

    def __init__(self) -> None:
        self._key: tuple[object, ...] | None = None
        self._worlds: Worlds | None = None

    def of(
        self, graph: SensitiveGraph, seed: int, protocol: str, released_share: float | None
    ) -> Worlds:
        """The worlds of this graph at this seed, cached or new."""
        key = (graph.fingerprint(), seed, protocol, released_share)
        if self._worlds is None or key != self._key:
            # Drop the old ones first: two graphs' worlds are never held at once.
            self._worlds = None
            self._worlds = Worlds(
                graph, seed=seed, protocol=protocol, released_share=released_share
            )
            self._key = key
        return self._worlds


def run(config: RunConfig, folder: RunFolder, worlds_cache: WorldsCache | None = None) -> Audit:
    """Train and audit a model, and write everything to a folder.

    A finished run is loaded. An interrupted one resumes. `worlds_cache` may be shared with other
    runs; the results are the same without.
    """
    config = config.completed()
    with ExitStack() as held:
        # Only of a folder that was begun: data that cannot be trained on must leave none.
        begun = on_rank0(folder.begun)
        finished = _finished(config, folder)
        if finished is None and begun:
            on_rank0(lambda: held.enter_context(folder.alone()))
        return finished or _run(config, folder, worlds_cache or WorldsCache(), held, begun)


def _run(
    config: RunConfig, folder: RunFolder, cache: WorldsCache, held: ExitStack, begun: bool
) -> Audit:
    """A run that is not finished; `held` keeps other commands out of its folder."""
    method = METHODS.resolve(config.method)
    model: Method = method(seed=config.seed, device=config.device, **config.settings)
    device = model.torch_device().type
    stages = Stages()
    with stages.stage("loading the graph"), reading(config.roles()) as read:
        graph = config.load()
    kinds = {"several_groups": method.several_groups, "number_of_s": method.number_of_s}
    check_trainable(graph, method.targets, config.method, **kinds)
    on_rank0(lambda: folder.claim(config))
    if not begun:
        on_rank0(lambda: held.enter_context(folder.alone()))
        # Another command may have been quicker.
        finished = _finished(config, folder)
        if finished is not None:
            return finished
    with stages.stage("training"):
        model = _trained(model, graph, folder)
    with stages.stage("audit"):
        worlds = cache.of(graph, config.seed, config.protocol, config.released_share)
        found = audit(
            model,
            worlds,
            self_people=config.self_people,
            affected_people=config.affected_people,
            what_if_people=config.what_if_people,
            other_causal_models=config.other_causal_models,
        )
        training = _training(model, graph)
    stages.files = (*read.files, *folder_hashes(folder.model, TRAINED, name=folder.model.name))
    found = replace(
        found,
        training=training,
        config=config.to_dict(),
        provenance=stages.provenance(graph, config.seed, device),
        notes=(*((QUICK,) if config.quick else ()), *found.notes),
    )
    write_predictions(folder.predictions, model, graph, found)
    folder.write(found)
    folder.clear_checkpoint()
    return found


def _finished(config: RunConfig, folder: RunFolder) -> Audit | None:
    """The results of an earlier run with the same settings; another run's folder is refused."""
    known: list[Audit] = []

    def load() -> dict[str, object] | None:
        if folder.begun():
            folder.claim(config)
        # A run is complete when it has a page; a damaged one is run again.
        known.extend(filter(None, [folder.results()] if folder.report.exists() else []))
        return known[0].to_dict() if known else None

    # Other processes of a job may not see the disk: they get everything except the people.
    data = on_rank0(load)
    if data is None or known:
        return known[0] if known else None
    return Audit.from_dict(data, pd.DataFrame())


def _trained(model: Method, graph: SensitiveGraph, folder: RunFolder) -> Method:
    """The model, trained now or loaded where an earlier run got that far."""
    if on_rank0((folder.model / "model.json").exists):
        model = type(model).load(folder.model, device=model.device)
    else:
        model.fit(graph, checkpoint=folder.checkpoint)
        model.save(folder.model)
    encoding = graph.get("encoding")
    if encoding is not None:
        encoding.write(folder.model / ENCODING)
    return model


def _training(model: Method, graph: SensitiveGraph) -> Training:
    """The history, and the quality of the counterfactual egos that it was trained on, if any."""
    history: dict[str, History] = dict(getattr(model, "history_", {}))
    report = report_generator(model, graph) if isinstance(model, EgoMethod) else None
    if not isinstance(model, EgoMethod) or report is None:
        return Training(history, None)
    found: dict[str, float] = asdict(report)
    if isinstance(graph.mechanism, SyntheticMechanism):
        error = generator_error(model, graph)
        for name in ("feature_error", "edge_precision", "edge_recall"):
            found[name] = getattr(error, name)
    return Training(history, found)
