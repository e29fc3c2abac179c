"""Audits in MLflow and Weights & Biases, read back from what these wrote to the disk."""

from __future__ import annotations

import importlib
import math
import re
import struct
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairgear.auditing import Audit
from fairgear.auditing import audit as audit_of
from fairgear.errors import ParameterError
from fairgear.graph import from_tables, split
from fairgear.tracking import _write, log_mlflow, log_wandb
from tests.auditing.models import Features, measure, small_graph
from tests.graph.people import people

FILES = {"report.html", "model-card.md", "audit.json"}
# Libraries of these packages warn of one another.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def audit() -> Audit:
    return measure(Features(), small_graph(80), draws=1, other_causal_models=True)


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.chdir(folder)
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        mlflow: Any = importlib.import_module("mlflow")
        before = mlflow.get_tracking_uri()
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        yield mlflow
        mlflow.set_tracking_uri(before)


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    for place in ("DIR", "CACHE_DIR", "DATA_DIR", "CONFIG_DIR", "ARTIFACT_DIR"):
        monkeypatch.setenv(f"WANDB_{place}", str(tmp_path))
    found = importlib.import_module("wandb")
    # What it has read of the environment for earlier tests.
    found.teardown()
    return found


def test_mlflow_has_settings_figures_and_files(mlflow: Any, audit: Audit, tmp_path: Path) -> None:
    with mlflow.start_run() as run:
        mlflow.log_metric("loss", 0.5)
        log_mlflow(audit)
    client = mlflow.MlflowClient()
    data = client.get_run(run.info.run_id).data
    assert data.metrics["loss"] == 0.5
    expected: dict[str, float] = {}
    for name, value in audit.metrics.items():
        low, high = audit.intervals[name]
        expected |= {name: value, f"{name}.low": low, f"{name}.high": high}
    logged = {key: value for key, value in data.metrics.items() if key != "loss"}
    assert logged == {f"fairgear/{k}": v for k, v in expected.items() if not math.isnan(v)}
    assert "fairgear/delta_cf_max.high" in logged
    assert data.params["fairgear/dataset"] == "synthetic"
    assert data.params["fairgear/people"] == str(len(audit.people))
    assert data.tags["fairgear/graph"] == small_graph(80).fingerprint()
    assert data.tags["fairgear/causal_models"].startswith("own, ")
    client.download_artifacts(run.info.run_id, "fairgear", str(tmp_path))
    found = tmp_path / "fairgear"
    assert {path.name for path in found.iterdir()} == FILES
    assert Audit.load(found, people=False).metrics == pytest.approx(audit.metrics, nan_ok=True)
    page = (found / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")


def test_nobody_is_named_where_nobody_was_asked_about(tmp_path: Path) -> None:
    table = people()
    table["id"] = [f"person{place}x" for place in range(len(table))]
    graph = from_tables(table, label="approved", sensitive="sex", similarity=0.7, standardize=True)
    graph = split(graph, seed=0)

    def written(**few: Any) -> str:
        found = audit_of(Features(), graph, draws=1, self_people=0, probes=False, **few)
        folder = tmp_path / str(len(few))
        _write(found, folder, people=False)
        return "".join((folder / name).read_text(encoding="utf-8") for name in FILES)

    assert not re.search(r"person\d+x", written(affected_people=0, what_if_people=0))
    assert re.search(r"person\d+x", written(what_if_people=0))


def test_mlflow_twice_is_once_and_another_needs_another_prefix(mlflow: Any, audit: Audit) -> None:
    client = mlflow.MlflowClient()
    with mlflow.start_run() as run:
        log_mlflow(audit)
        once = client.get_run(run.info.run_id).data.to_dictionary()
        log_mlflow(audit)
        other = replace(audit, model=replace(audit.model, name="Other"))
        with pytest.raises(ParameterError, match=r"another audit under 'fairgear'.*/second"):
            log_mlflow(other)
    data = client.get_run(run.info.run_id).data
    assert data.to_dictionary() == once
    history = client.get_metric_history(run.info.run_id, "fairgear/delta_cf")
    assert [entry.value for entry in history] == [audit.metrics["delta_cf"]]
    # By its id, after it has ended.
    log_mlflow(other, prefix="fairgear/second", run_id=run.info.run_id, people=True)
    assert client.get_run(run.info.run_id).data.params["fairgear/second/model"] == "Other"
    files = {file.path for file in client.list_artifacts(run.info.run_id, "fairgear/second")}
    assert "fairgear/second/people.parquet" in files


def test_without_a_run(mlflow: Any, wandb: Any, audit: Audit) -> None:
    with pytest.raises(ParameterError, match="no run that is open"):
        log_mlflow(audit)
    with pytest.raises(ParameterError, match=r"call wandb.init\(\) before"):
        log_wandb(audit)


def test_a_package_that_is_missing(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)
    with pytest.raises(ParameterError, match=r"pip install 'fairgear\[wandb\]'"):
        log_wandb(audit)


def test_wandb_has_settings_figures_and_files(wandb: Any, audit: Audit, tmp_path: Path) -> None:
    with wandb.init(project="p", dir=tmp_path) as run:
        log_wandb(audit)
        log_wandb(audit)
        other = replace(audit, model=replace(audit.model, name="Other"))
        with pytest.raises(ParameterError, match="another audit under 'fairgear'"):
            log_wandb(other, run=run)
        summary = dict(run.summary)
    # Its other process writes on after the run has ended.
    wandb.teardown()
    assert summary["fairgear/delta_cf"] == audit.metrics["delta_cf"]
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    records = list(_records(path))
    config = {
        item.key or "/".join(item.nested_key): item.value_json
        for record in records
        if record.WhichOneof("record_type") == "config"
        for item in record.config.update
    }
    assert config["fairgear/model"] == '"Features"'
    assert config["fairgear/graph"] == f'"{audit.setup.graph}"'
    figures = {
        item.key or "/".join(item.nested_key): item.value_json
        for record in records
        if record.WhichOneof("record_type") == "summary"
        for item in record.summary.update
    }
    low, high = audit.intervals["delta_cf"]
    assert float(figures["fairgear/delta_cf.low"]) == pytest.approx(low)
    assert float(figures["fairgear/delta_cf.high"]) == pytest.approx(high)
    artifacts = [r.artifact for r in records if r.WhichOneof("record_type") == "artifact"]
    assert {artifact.type for artifact in artifacts} == {"fairness-audit"}
    # The same content: the server keeps one version of it.
    assert len({artifact.digest for artifact in artifacts}) == 1
    assert {entry.path for entry in artifacts[0].manifest.contents} == FILES


def _records(path: Path) -> Iterator[Any]:
    """The records of an offline run: a log of LevelDB after seven bytes of its own."""
    proto = importlib.import_module("wandb.proto.wandb_internal_pb2")
    content, at, part = path.read_bytes(), 7, b""
    while at < len(content):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack_from("<HB", content, at + 4)
        part += content[at + 7 : at + 7 + length]
        at += 7 + length
        # Whole, or the last of several.
        if kind in (1, 4):
            record = proto.Record()
            record.ParseFromString(part)
            yield record
            part = b""
