"""The folder of a run: what it holds, and whether it may be used."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from fairgear.errors import FileError
from fairgear.experiments.run_config import RunConfig, read_yaml
from fairgear.files import TEMPORARY, remove_leftovers, write_text, writes
from fairgear.metrics import METRICS


class RunFolder:
    """`config.yaml`, `metrics.json`, `predictions.parquet`, `model/` and `report.html`."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.metrics = self.path / "metrics.json"
        self.predictions = self.path / "predictions.parquet"
        self.model = self.path / "model"
        self.report = self.path / "report.html"
        self.checkpoint = self.path / "checkpoint"

    def begun(self) -> bool:
        """Whether there is anything in it."""
        return bool(self._entries())

    def claim(self, config: RunConfig) -> None:
        """Make the folder ours: new, empty, or begun with the same settings."""
        entries = self._entries()
        remove_leftovers(self.path)
        if not entries:
            write_text(self.config, yaml.safe_dump(config.to_dict(), sort_keys=False))
            return
        before = read_yaml(self.config) if self.config in entries else None
        if before != config.to_dict():
            raise FileError(
                f"output folder {self.path}",
                _found(before, config.to_dict()),
                "a new or empty folder, or a run with the same settings to resume",
                "choose another --out, or remove that folder",
            )

    def is_of(self, config: RunConfig, *, on_any_device: bool = False) -> bool:
        """Whether it is new, or was begun with the same settings."""
        if not self.begun():
            return True
        if not self.config.exists():
            return False
        before, now = read_yaml(self.config), config.to_dict()
        if on_any_device:
            before, now = ({**one, "device": None} for one in (before, now))
        return before == now

    def finished(self) -> dict[str, Any] | None:
        """The results, where the run is complete."""
        # One that is damaged is measured again.
        return self.measured() if self.report.exists() else None

    def measured(self) -> dict[str, Any] | None:
        """The results, whether or not there is a page of them."""
        try:
            return read_results(self.metrics)
        except FileError:
            return None

    def keep_results_alone(self) -> None:
        """Remove the model and all that is as large; the settings and the results stay."""
        for folder in (self.model, self.checkpoint):
            shutil.rmtree(folder, ignore_errors=True)
        for large in (self.predictions, self.report):
            large.unlink(missing_ok=True)

    def clear_checkpoint(self) -> None:
        """The model is saved; what a resumed training would need is not."""
        if writes():
            shutil.rmtree(self.checkpoint, ignore_errors=True)

    def _entries(self) -> list[Path]:
        try:
            if self.path.exists() and not self.path.is_dir():
                raise NotADirectoryError(20, "a file of that name")
            entries = self.path.iterdir() if self.path.exists() else iter(())
            return [entry for entry in entries if not entry.name.endswith(TEMPORARY)]
        except OSError as error:
            raise FileError(
                f"output folder {self.path}",
                error.strerror,
                "a folder one may read and write",
                "choose another --out",
            ) from error


def read_results(path: Path) -> dict[str, Any]:
    """What a run left in `metrics.json`."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        fine = set(values["metrics"]) == set(values["intervals"]) == set(METRICS)
        fine = fine and all(len(ends) == 2 for ends in values["intervals"].values())
        fine = fine and {"method", "dataset", "split", "seed"} <= values["config"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        fine = False
    if not fine:
        raise FileError(
            f"results {path}",
            "no metrics.json of a finished run",
            "the folder of a finished run",
            "run fairgear run --out on that folder to finish it",
        )
    return dict(values)


def _found(before: dict[str, Any] | None, now: dict[str, Any]) -> str:
    """What is in a folder that cannot be used, in words."""
    if before is None:
        return "no run of fairgear"
    differs = _first_difference(before, now)
    if differs.startswith("data.sha256 "):
        return f"a run on {now['dataset']} before its content changed"
    return f"a run with other settings ({differs})"


def _first_difference(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> str:
    for key in other:
        before, now = one.get(key), other[key]
        if isinstance(before, dict) and isinstance(now, dict):
            inner = _first_difference(before, now, f"{prefix}{key}.")
            if inner:
                return inner
        elif before != now:
            return f"{prefix}{key} was {before!r}, now {now!r}"
    return ""
