"""Cell: one run of a comparison or a reproduction, and the row that its results make."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairgear.experiments.compare_entry import Entry
from fairgear.runs.config import RunConfig
from fairgear.runs.folder import RunFolder


@dataclass(frozen=True)
class Cell:
    """One method with its settings on one dataset with one seed."""

    entry: Entry
    config: RunConfig

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.entry.folder(self.config.dataset, self.config.seed)

    def folder(self, study: Path) -> RunFolder:
        """Where its results are, or go."""
        return RunFolder(study / "runs" / self.name)

    def row(self, results: dict[str, Any]) -> dict[str, Any]:
        """What tables are made of."""
        config, about = self.config, results["provenance"]
        return {
            "dataset": config.dataset,
            "method": self.entry.label,
            "split": config.split,
            "seed": config.seed,
            **results["metrics"],
            "seconds": round(sum(stage["seconds"] for stage in about["stages"]), 1),
            "version": about["version"],
            "commit": about.get("commit", ""),
            "device": about.get("device", ""),
        }
