"""Entry: one line of a comparison's table, a method with its settings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fairgear.methods import METHODS
from fairgear.runs.config import GEAR, RunConfig
from fairgear.runs.overrides import assigned, nested


@dataclass(frozen=True)
class Entry:
    """A method, by its name alone or as `gear:erase=0,generator.steps=200`.

    Attributes:
        label: as it was typed, and as the tables have it.
        method: a name from `METHODS`.
        settings: where they are not its defaults; `preset` is one for gear.
    """

    label: str
    method: str
    settings: dict[str, Any]

    @classmethod
    def of(cls, text: str) -> Entry:
        """Read and checked: a wrong name or value is said before any work is done."""
        method, colon, rest = text.partition(":")
        settings = nested(assigned(rest.split(","), f"method {text!r}")) if colon else {}
        made = METHODS[method]
        entry = cls(text, method, settings)
        made(**entry.run("synthetic", 0, "released").method_settings())
        return entry

    def run(self, dataset: str, seed: int, split: str) -> RunConfig:
        """The settings of one run of it."""
        common = {
            "dataset": dataset,
            "method": self.method,
            "seed": seed,
            "split": split,
            # Tables do not show them.
            "affected_people": 0,
            "other_causal_models": False,
        }
        if self.method != GEAR:
            return RunConfig.from_dict({**common, "settings": self.settings})
        gear = dict(self.settings)
        preset = gear.pop("preset", "default")
        return RunConfig.from_dict({**common, "preset": preset, "gear": gear})

    @property
    def preset(self) -> str:
        """Of gear; empty for any other method."""
        return str(self.settings.get("preset", "default")) if self.method == GEAR else ""

    def folder(self, dataset: str, seed: int) -> str:
        """The name of that run's folder."""
        return f"{dataset}-{re.sub(r'[^A-Za-z0-9.=_-]+', '-', self.label)}-{seed}"
