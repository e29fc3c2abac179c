"""Audits in experiment trackers: `log_mlflow` and `log_wandb`.

Both write the same: settings as parameters, figures with the ends of their intervals as metrics,
and the page. The second call with the same audit changes nothing.
"""

from __future__ import annotations

import importlib
import math
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairgear.auditing import Audit
from fairgear.auditing.result import RESULTS
from fairgear.errors import ParameterError
from fairgear.files import write_json
from fairgear.version import installed_version

__all__ = ["log_mlflow", "log_wandb"]

PREFIX = "fairgear"
PAGE, CARD = "report.html", "model-card.md"


def log_mlflow(
    audit: Audit, *, prefix: str = PREFIX, run_id: str | None = None, people: bool = False
) -> None:
    """Log an audit to a run of MLflow: parameters, metrics, tags, and its files as artifacts.

    Args:
        audit: what to log.
        prefix: what names begin with, and the folder of the artifacts; several audits in one run
            need one each.
        run_id: the run; the active one if not given.
        people: whether the table of everybody audited is among the artifacts.

    Example:
        >>> import mlflow
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> mlflow.set_tracking_uri("sqlite:///runs.db")
        >>> with mlflow.start_run() as run:
        ...     fg.tracking.log_mlflow(audit)
        >>> logged = mlflow.MlflowClient().get_run(run.info.run_id).data
        >>> logged.metrics["fairgear/delta_cf"] == audit.metrics["delta_cf"]
        True
    """
    mlflow = _imported("mlflow")
    client = mlflow.MlflowClient()
    if run_id is None:
        active = mlflow.active_run()
        if active is None:
            raise _no_run("MLflow", "write `with mlflow.start_run():` around it, or pass run_id")
        run_id = active.info.run_id
    run = client.get_run(run_id)
    settings, tags = _named(prefix, _settings(audit)), _named(prefix, _tags(audit))
    _check_same(run.data.params, settings, f"run {run_id} of MLflow", prefix)
    # A figure that is there already would be one more point of its history.
    figures = {
        key: value
        for key, value in _named(prefix, _figures(audit)).items()
        if run.data.metrics.get(key) != value
    }
    entities, now = mlflow.entities, int(1000 * time.time())
    # The page first: where there are figures, there is a page.
    with tempfile.TemporaryDirectory() as folder:
        _write(audit, Path(folder), people)
        client.log_artifacts(run_id, folder, prefix)
    client.log_batch(
        run_id,
        metrics=[entities.Metric(key, value, now, 0) for key, value in figures.items()],
        params=[entities.Param(key, value) for key, value in settings.items()],
        tags=[entities.RunTag(key, value) for key, value in tags.items()],
    )


def log_wandb(audit: Audit, *, prefix: str = PREFIX, run: Any = None, people: bool = False) -> None:
    """Log an audit to a run of Weights & Biases: config, summary, and its files as an artifact.

    Args:
        audit: what to log.
        prefix: what names begin with; several audits in one run need one each.
        run: what `wandb.init` gave; the active run if not given.
        people: whether the table of everybody audited is in the artifact.

    Example:
        >>> import wandb
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> with wandb.init(mode="offline", project="loans") as run:
        ...     fg.tracking.log_wandb(audit)
        ...     print("fairgear/delta_cf" in run.summary.keys())
        True
    """
    wandb = _imported("wandb")
    run = wandb.run if run is None else run
    if run is None:
        raise _no_run("Weights & Biases", "call wandb.init() before, or pass run")
    settings = _named(prefix, _settings(audit))
    _check_same(run.config, settings, f"run {run.id} of Weights & Biases", prefix)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{prefix}-{run.id}")
    artifact = wandb.Artifact(name, type="fairness-audit", metadata=_tags(audit))
    with tempfile.TemporaryDirectory() as folder:
        _write(audit, Path(folder), people)
        # A copy is kept until it is sent.
        artifact.add_dir(folder)
        run.log_artifact(artifact)
    run.config.update({**settings, **_named(prefix, _tags(audit))}, allow_val_change=True)
    run.summary.update(_named(prefix, _figures(audit)))


def _settings(audit: Audit) -> dict[str, str]:
    """What was audited and how: the same for the same question about the same model."""
    setup, model = audit.setup, audit.model
    found = {
        "model": model.name,
        "kind": model.kind,
        "threshold": model.threshold,
        "dataset": setup.dataset,
        "people": setup.people,
        "causal_model": setup.causal_model,
        "draws": setup.draws,
        "seed": setup.seed,
        "level": setup.level,
        "self_people": setup.self_people,
    }
    return {key: str(value) for key, value in found.items()}


def _figures(audit: Audit) -> dict[str, float]:
    """Every measure that is defined, and the ends of its interval as `--fail-if` names them."""
    found: dict[str, float] = {}
    for name, value in audit.metrics.items():
        low, high = audit.intervals[name]
        found |= {name: value, f"{name}.low": low, f"{name}.high": high}
    return {key: float(value) for key, value in found.items() if math.isfinite(value)}


def _tags(audit: Audit) -> dict[str, str]:
    """Where the figures come from, and what they come to."""
    others = audit.causal_models
    return {
        "version": installed_version() if audit.provenance is None else audit.provenance.version,
        "graph": audit.setup.graph,
        "worlds": audit.setup.worlds,
        "causal_models": "" if others is None else ", ".join(row.model for row in others.rows),
        "verdict": "" if others is None else others.verdict,
    }


def _write(audit: Audit, folder: Path, people: bool) -> None:
    audit.save_html(folder / PAGE)
    audit.save_model_card(folder / CARD)
    if people:
        audit.save(folder, beside=(PAGE, CARD))
    else:
        write_json(folder / RESULTS, audit.to_dict(), dense=("what_if",))


def _named(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}/{key}": value for key, value in values.items()}


def _check_same(
    known: Mapping[str, Any], settings: Mapping[str, str], run: str, prefix: str
) -> None:
    """Refuse a run that holds another audit under the same names, before anything is written."""
    for key, now in settings.items():
        before = known.get(key, now)
        if before != now:
            got = f"another audit under {prefix!r}: {key} was {before!r}, now {now!r}"
            step = f"pass another prefix, such as prefix='{prefix}/second'"
            raise ParameterError(run, got, "one audit for each prefix", step)


def _no_run(tracker: str, step: str) -> ParameterError:
    return ParameterError(f"log to {tracker}", "no run that is open", "an open run", step)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        step = f"pip install 'fairgear[{name}]'"
        raise ParameterError(f"log to {name}", "no such package", "it installed", step) from error
