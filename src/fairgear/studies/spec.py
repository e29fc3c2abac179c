"""What a study runs: a cell is one method with its settings on one dataset with one seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgear.datasets.source import GraphSource
from fairgear.errors import ParameterError
from fairgear.methods import METHODS
from fairgear.runs.config import RunConfig
from fairgear.runs.folder import RunFolder
from fairgear.runs.overrides import parse_overrides

if TYPE_CHECKING:
    from fairgear.auditing import Audit

# Tables do not show what these would measure.
_UNUSED = {"affected_people": 0, "what_if_people": 0, "other_causal_models": False}
# The most seeds of a study; more are a typing error.
MOST_SEEDS = 1000
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Entry:
    """A method by its name alone, or with settings: `gear-paper:k=10,generator.steps=200`.

    Attributes:
        label: the text itself; tables show it.
        method: a name from `METHODS`.
        settings: those that differ from the defaults.
    """

    label: str
    method: str
    settings: dict[str, Any]

    @classmethod
    def parse(cls, text: str) -> Entry:
        """Read and check an entry: a wrong name or value fails before any work is done."""
        method, colon, rest = text.partition(":")
        settings = parse_overrides(rest.split(","), f"method {text!r}") if colon else {}
        build = METHODS[method]
        entry = cls(text, method, settings)
        build(**entry.config(GraphSource(), 0).settings)
        return entry

    @property
    def reads_graph(self) -> bool:
        """Whether it uses edges: the method does, with these settings."""
        kind = METHODS[self.method]
        config = kind.config_type.from_dict(self.config(GraphSource(), 0).settings)
        return kind.reads_graph and bool(getattr(config, "reads_graph", True))

    def config(self, source: GraphSource, seed: int, **more: Any) -> RunConfig:
        """The settings of one run; `more` are other fields of a `RunConfig`."""
        common = {**source.to_dict(), "method": self.method, "seed": seed}
        values = common | _UNUSED | more | {"settings": dict(self.settings)}
        return RunConfig.from_dict(values).completed()


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    entry: Entry
    config: RunConfig

    @property
    def key(self) -> Key:
        """What distinguishes its row from all others: dataset, method, split and seed."""
        return self.config.dataset, self.entry.label, self.config.split, self.config.seed

    @property
    def graph(self) -> tuple[str, str, int]:
        """Runs with the same dataset, split and seed share their counterfactual worlds."""
        return self.config.dataset, self.config.split, self.config.seed

    @property
    def name(self) -> str:
        """The name of its folder."""
        text = f"{self.config.dataset}-{self.entry.label}-{self.config.seed}"
        return re.sub(r"[^A-Za-z0-9.=_-]+", "-", text)

    def folder(self, study: Path) -> RunFolder:
        """Where its results are written."""
        return RunFolder(study / "runs" / self.name)

    def row(self, audit: Audit) -> dict[str, Any]:
        """The row of its results in tables."""
        about = audit.provenance
        assert about is not None, "a run notes its provenance"
        return {
            **dict(zip(("dataset", "method", "split", "seed"), self.key, strict=True)),
            **audit.metrics,
            "seconds": round(about.seconds, 1),
            "version": about.version,
            "commit": about.commit,
            "device": about.device,
        }


@dataclass(frozen=True)
class Study:
    """Cells by the table or figure that needs them; a cell of two tables is run once."""

    parts: Mapping[str, Sequence[Cell]]

    @cached_property
    def cells(self) -> list[Cell]:
        """All cells, each once, seed by seed and then graph by graph.

        An interrupted study thus has whole tables of fewer seeds.
        """
        found = {cell.key: cell for cells in self.parts.values() for cell in cells}
        # By first appearance: the order of a plan is the order in which it is carried out.
        seeds = list(dict.fromkeys(cell.config.seed for cell in found.values()))
        graphs = list(dict.fromkeys(cell.graph for cell in found.values()))
        return sorted(
            found.values(),
            key=lambda cell: (seeds.index(cell.config.seed), graphs.index(cell.graph)),
        )


def parse_seeds(text: str) -> tuple[int, ...]:
    """`3` is 0, 1 and 2; `10-19` is the ten from 10 to 19."""
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        begin, end = (int(first), int(last) + 1) if dash else (0, int(first))
        if 0 < end - begin <= MOST_SEEDS:
            return tuple(range(begin, end))
    raise ParameterError(
        "--seeds",
        repr(text),
        f"how many, such as 10, or which, such as 10-19; at most {MOST_SEEDS:,}",
        "use 10 for a paper",
    )
