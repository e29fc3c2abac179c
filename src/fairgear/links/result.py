"""LinkAudit: what a model of links does, and would do in other worlds; saved and loaded whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.auditing.conditions import Condition
from fairgear.auditing.names import Names
from fairgear.auditing.provenance import Provenance
from fairgear.auditing.records import from_json
from fairgear.auditing.result import ModelInfo
from fairgear.auditing.sums import SUMS, check_sums, write_sums
from fairgear.causal import Diagnostics
from fairgear.datasets import GraphStatistics
from fairgear.documents import json_of
from fairgear.errors import FileError
from fairgear.files import json_ready, json_text, replacing, write_text, writes
from fairgear.links.metrics import LINK_METRICS
from fairgear.metrics import Interval
from fairgear.reading import DAMAGE
from fairgear.training import History

FORMAT = 1
# The files of a saved audit.
RESULTS, PAIRS = "links.json", "pairs.parquet"


@dataclass(frozen=True)
class LinkSetup:
    """How an audit of links was made.

    Attributes:
        dataset: name of the graph.
        people: in the graph.
        pairs: how many were audited.
        linked: how many of them are linked.
        directed: whether a pair is an arc from the first to the second.
        self_pairs: how many pairs *either end* and *both ends* were measured on.
        list_people: how many people's lists were compared; 0 where there are none.
        k: places of a list, and of hits@k.
        draws: worlds for each random intervention.
        seed: of the draws, of the samples and of the bootstrap.
        level: of the intervals.
        causal_model: its name; None without one.
        worlds: fingerprint of the worlds.
        graph: fingerprint of the graph, with all its edges.
        split: fingerprint of the pairs in question.
    """

    dataset: str
    people: int
    pairs: int
    linked: int
    directed: bool
    self_pairs: int
    list_people: int
    k: int
    draws: int
    seed: int
    level: float
    causal_model: str | None
    worlds: str
    graph: str
    split: str


@dataclass(frozen=True)
class LinkFlips:
    """What one intervention does to predicted links.

    Attributes:
        intervention: "rate 0" and the like of everybody, "average over rates" (δCF), "either end",
            "both ends" or "neighbours".
        rate: share of the pairs whose predicted link flips.
        interval: of `rate`, over pairs in other communities.
        error: Monte Carlo standard error of `rate`; None where nothing is random.
        gained: share that is predicted to be linked in the other world alone.
        lost: share that is predicted to be linked in the factual world alone.
        score_shift: mean change of the score.
        score_size: mean absolute change of the score.
        pairs: how many it was measured on.
        draws: comparisons with a counterfactual world that were averaged.
    """

    intervention: str
    rate: float
    interval: Interval
    error: float | None
    gained: float
    lost: float
    score_shift: float
    score_size: float
    pairs: int
    draws: int


@dataclass(frozen=True)
class Cell:
    """Pairs of two groups, and what is predicted of them.

    Attributes:
        name: "same", "different", or "FIRST SECOND" by the numbers of the groups.
        first: group of one end, of a directed graph of the first; None of "same" and "different".
        second: group of the other end, at least `first` unless the graph is directed.
        pairs: how many there are among the audited ones.
        linked: how many of them are linked.
        rate: share that is predicted to be linked; NaN without pairs.
        interval: of `rate`.
        rate_linked: the same among those that are linked.
        interval_linked: of `rate_linked`.
        delta_cf: share that flips where everybody's attribute is another; NaN where unmeasured.
        interval_cf: of `delta_cf`.
    """

    name: str
    first: int | None
    second: int | None
    pairs: int
    linked: int
    rate: float
    interval: Interval
    rate_linked: float
    interval_linked: Interval
    delta_cf: float
    interval_cf: Interval


@dataclass(frozen=True)
class ListChange:
    """How much people's lists change in a world.

    Attributes:
        intervention: as in `LinkFlips`, or "self": the person alone is of another group.
        change: mean of 1 − (people in both lists)/k, over people and draws.
        interval: of `change`, over people in other communities.
        error: Monte Carlo standard error of `change`; None where nothing is random.
        people: whose lists were compared.
        draws: worlds that were averaged.
    """

    intervention: str
    change: float
    interval: Interval
    error: float | None
    people: int
    draws: int


@dataclass(frozen=True)
class Exposure:
    """How often people of a group stand in the lists of others.

    Attributes:
        intervention: "factual", or that of the worlds whose lists are counted.
        group: the group that the listed people are of, factually.
        candidates: its share of those who could be listed: all but oneself and whom one is linked
            with.
        share: its share of the places.
        weighted: the same with a weight of 1/log₂(1 + rank) for each place.
        relative: `share` ÷ `candidates`; 1 is as many places as people.
        interval: of `relative`, over the owners of the lists.
        relative_weighted: `weighted` ÷ `candidates`.
        interval_weighted: of `relative_weighted`.
    """

    intervention: str
    group: int
    candidates: float
    share: float
    weighted: float
    relative: float
    interval: Interval
    relative_weighted: float
    interval_weighted: Interval


@dataclass(frozen=True)
class Listed:
    """Somebody in a list: name or id, group and score there."""

    person: int | str
    group: int
    score: float


@dataclass(frozen=True)
class WorldList:
    """A person's list in a world.

    Attributes:
        intervention: of the world, its first draw, or "self".
        listed: the list, best first.
        entered: names of those who were not in the factual list.
        left: those of the factual list who are in this one no more, with their scores in this
            world.
    """

    intervention: str
    listed: tuple[Listed, ...]
    entered: tuple[int | str, ...]
    left: tuple[Listed, ...]


@dataclass(frozen=True)
class PersonLists:
    """One person's list as it is and in other worlds.

    Attributes:
        person: name or id.
        group: of the person.
        change: mean change over the worlds of everybody.
        factual: the list as it is, best first.
        worlds: in other worlds.
    """

    person: int | str
    group: int
    change: float
    factual: tuple[Listed, ...]
    worlds: tuple[WorldList, ...]


@dataclass(frozen=True)
class Lists:
    """Whom a model would recommend to whom.

    Attributes:
        changes: by intervention; empty without worlds.
        exposure: of each group, factual and by intervention.
        people: some people's lists in full, those that change most first.
    """

    changes: tuple[ListChange, ...]
    exposure: tuple[Exposure, ...]
    people: tuple[PersonLists, ...]


@dataclass(frozen=True)
class LinkReference:
    """A model without judgement, for comparison.

    Attributes:
        name: "copying" (predicts a link where both ends are of one group) or "common neighbours".
        meaning: what it does, in words.
        metrics: some of the audit's, by name.
    """

    name: str
    meaning: str
    metrics: dict[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class LinkAudit:
    """What a model of links predicts, and would predict had people been of another group.

    Attributes:
        model: name, kind and threshold of the audited model.
        setup: on what graph, pairs and draws.
        metrics: by the names of `fairgear.links.LINK_METRICS`; NaN where undefined.
        intervals: the same keys.
        flips: one row for each intervention; none without a causal model.
        cells: first "same" and "different", then every pair of groups; of a number, of its ranges.
        lists: who is recommended to whom; None where that was not measured.
        references: models without judgement on the same pairs and worlds.
        names: what the data call the groups.
        graph: counts of the graph with all its edges.
        diagnostics: what the causal model does to the graph; None without one.
        notes: sentences to read with the numbers.
        pairs: one row for each audited pair, by id: `source target` (and `source_name target_name`
            where ids are not whole numbers), `group_source group_target`, `linked score label`, for
            each intervention `score_…` (mean over the draws) and `flip_…` (share of the draws in
            which the predicted link flips), NaN where it was not measured.
        training: the history of each stage, where training was part of the run.
        config: the settings of the command, empty in Python.
        provenance: versions, data and cost, where they were recorded.

    Example:
        >>> from fairgear.links import LinkAudit, audit_links, split_links
        >>> from fairgear.testing import toy_graph
        >>> def same_group(graph, pairs):
        ...     return (graph.sens[pairs[0]] == graph.sens[pairs[1]]).double()
        >>> audit = audit_links(same_group, split_links(toy_graph()), draws=1)
        >>> audit.metrics["delta_cf_either"], audit.metrics["delta_cf_both_ends"]
        (1.0, 0.0)
        >>> audit.save("links")
        >>> LinkAudit.load("links").metrics["delta_cf_either"]
        1.0
    """

    model: ModelInfo
    setup: LinkSetup
    metrics: dict[str, float]
    intervals: dict[str, Interval]
    flips: tuple[LinkFlips, ...]
    cells: tuple[Cell, ...]
    lists: Lists | None
    references: tuple[LinkReference, ...]
    names: Names
    graph: GraphStatistics
    diagnostics: Diagnostics | None
    notes: tuple[str, ...]
    pairs: pd.DataFrame
    training: dict[str, History] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        shown = ("auroc", "delta_cf", "delta_cf_either", "list_change", "gap_same_different")
        known = [key for key in shown if key in self.metrics]
        figures = ", ".join(f"{key} {self.metrics[key]:.4f}" for key in known)
        return (
            f"LinkAudit({self.model.name!r} on {self.setup.dataset!r}, {self.setup.pairs:,} pairs: "
            f"{figures})"
        )

    def summary(self) -> str:
        """A table in text: every metric with its interval."""
        width = max((len(LINK_METRICS[key].label) for key in self.metrics), default=0)
        level = f"{self.setup.level:.0%}"
        lines = [f"{self.model.name} on {self.setup.dataset}: {self.setup.pairs:,} pairs"]
        lines += [f"{'':{width}}   value  {level} interval"]
        for key, value in self.metrics.items():
            ends = self.intervals[key]
            between = f"{ends.low:.4f} to {ends.high:.4f}" if ends.defined else ""
            lines.append(f"{LINK_METRICS[key].label:{width}}  {value:6.4f}  {between}".rstrip())
        return "\n".join(lines)

    def failures(self, *conditions: str) -> list[str]:
        """A sentence for each condition, such as "delta_cf > 0.05", that this audit meets."""
        parsed = [Condition.parse(text, LINK_METRICS) for text in conditions]
        found = [condition.failure(self.metrics, self.intervals) for condition in parsed]
        return [sentence for sentence in found if sentence is not None]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, without `pairs`; None where undefined."""
        names = [item.name for item in fields(self) if item.name != "pairs"]
        return {"format": FORMAT, **{name: json_ready(getattr(self, name)) for name in names}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], pairs: pd.DataFrame) -> LinkAudit:
        """From what `to_dict` gave and the table of pairs; an error where it is anything else."""
        if data["format"] != FORMAT:
            raise ValueError("an audit of links of another format")
        return from_json(cls, {**data, "pairs": pairs})

    def save(self, folder: Path | str, *, beside: Sequence[str] = ()) -> None:
        """Write the pairs, the hashes of all files and, once these are complete, `links.json`.

        Args:
            folder: where to write; made if it is not there.
            beside: other files in it, which are complete, to be listed with their hashes.
        """
        folder = Path(folder)
        results = json_text(self.to_dict(), dense=("lists",))
        if writes():
            folder.mkdir(parents=True, exist_ok=True)
            for name in (RESULTS, SUMS):
                (folder / name).unlink(missing_ok=True)
        with replacing(folder / PAIRS, private=True) as temporary:
            self.pairs.to_parquet(temporary, index=False)
        if writes():
            write_sums(folder, (PAIRS, *beside), {RESULTS: results})
        write_text(folder / RESULTS, results, private=True)

    def save_html(self, path: Path | str) -> None:
        """Write the page: one file, which requests nothing over the network."""
        from fairgear.report.links_page import write_links_page

        write_links_page(self, Path(path))

    @classmethod
    def load(cls, folder: Path | str) -> LinkAudit:
        """Read what `save` wrote."""
        folder = Path(folder)
        try:
            contents = {name: (folder / name).read_bytes() for name in (RESULTS, PAIRS)}
            check_sums(folder, contents)
            table = pd.read_parquet(BytesIO(contents[PAIRS]))
            return cls.from_dict(json_of(contents[RESULTS]), table)
        except FileError:
            raise
        except (*DAMAGE, KeyError, TypeError, AttributeError) as error:
            got = f"no {RESULTS} and {PAIRS} of this version of fairgear"
            allowed = "the folder of a finished audit of links"
            step = "check the path, or audit again"
            raise FileError(f"folder {folder}", got, allowed, step) from error
