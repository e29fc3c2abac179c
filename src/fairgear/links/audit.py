"""`audit_links`: any model of links in, a `LinkAudit` out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear import datasets
from fairgear.auditing.adapters.base import Predictions, within_unit
from fairgear.auditing.effects import AVERAGE, Effect
from fairgear.auditing.measures import collecting
from fairgear.auditing.names import Names
from fairgear.auditing.people import sample
from fairgear.auditing.result import ModelInfo
from fairgear.auditing.unknown import has_unknown
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel
from fairgear.errors import ParameterError
from fairgear.graph import communities, regions
from fairgear.links.adapters import AuditedLinks, adapt_links
from fairgear.links.audited import (
    AuditedPairs,
    pairs_to_audit,
    sampled_pairs,
    scorer_in,
)
from fairgear.links.base import PairScorer
from fairgear.links.cells import PairGroups, cell_rows
from fairgear.links.clusters import PairClusters
from fairgear.links.effects import FLIPS, flip_row, measure_flips
from fairgear.links.intervals import PairBootstrap
from fairgear.links.measures import factual_estimates, surroundings_of
from fairgear.links.metrics import LINK_METRICS
from fairgear.links.origin import split_fingerprint
from fairgear.links.pairs import Pairs
from fairgear.links.recommendations import SELF, ListReader, MeasuredLists
from fairgear.links.references import Compared, link_references
from fairgear.links.result import Cell, LinkAudit, LinkFlips, LinkReference, LinkSetup
from fairgear.links.split import LinkSplit
from fairgear.links.table import table_of
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.metrics import UNDEFINED, Estimate
from fairgear.metrics.inputs import check_level
from fairgear.progress import bar

# People whose lists are compared, by default; of a command so many pairs at most are asked for.
LIST_PEOPLE, COSTLY_CELLS = 200, 200_000


def audit_links(
    model: object,
    split: LinkSplit,
    *,
    worlds: Worlds | None = None,
    name: str | None = None,
    threshold: float | None = None,
    causal_model: CausalModel | None = None,
    pairs: Pairs | None = None,
    draws: int = 3,
    seed: int = 0,
    self_pairs: int | None = None,
    list_people: int | None = None,
    k: int = 10,
    level: float = 0.95,
) -> LinkAudit:
    """Audit any model of links: would its predictions change, had people been of another group?

    In every world the model sees the graph without any edge between a pair in question.

    Args:
        model: a fitted `LinkModel`; a callable of (graph, pairs of rows (2, m)) that returns m
            scores; a PyTorch or PyG module with `encode(x, edge_index)` and `decode(z, pairs)`; a
            `LinkCommand`; a `GivenLinks`, or the path of a file of pairs and scores, of which no
            other world is known.
        split: the graph and the pairs in question.
        worlds: of `split.graph`, to audit several models on the same counterfactuals; they decide
            causal_model, draws and seed.
        name: what reports call the model.
        threshold: scores above it predict a link; if not given the model's own, else 0.5 of scores
            within 0 and 1, else the most accurate on the validation pairs.
        causal_model: makes the worlds; chosen as for `fairgear.audit` if not given.
        pairs: to audit; the test pairs of the split if not given.
        draws: worlds for each random intervention.
        seed: of the draws, of the samples and of the bootstrap.
        self_pairs: how many pairs, at most, *either end* and *both ends* are measured on, each in
            worlds of their own; if not given all in a small graph, else 100, of a command 5.
        list_people: how many people's lists are compared; 200 if not given, of a command as many as
            need 200,000 pairs a world.
        k: places of a list, and of hits@k; at most all others.
        level: of the intervals.

    Example:
        >>> from fairgear.links import audit_links, split_links
        >>> from fairgear.testing import toy_graph
        >>> def alike(graph, pairs):
        ...     first, second = graph.x[pairs]
        ...     return -(first - second).square().sum(dim=1)
        >>> audit = audit_links(alike, split_links(toy_graph()), draws=1, self_pairs=5)
        >>> audit.metrics["auroc"] > 0.6, audit.metrics["delta_cf"] > 0
        (True, True)
    """
    _check(self_pairs, list_people, k, level)
    adapter = adapt_links(model, name=name, threshold=threshold)
    worlds = _worlds(split, worlds, causal_model, draws, seed, adapter.factual_only)
    linked, ends = pairs_to_audit(split, pairs)
    # Nobody has more others to be recommended.
    places = min(k, max(len(split.graph.x) - 1, 1))
    sizes = _Sizes(self_pairs, list_people, places, level)
    return _Audit(adapter, split, worlds, ends, linked, sizes).measured()


@dataclass(frozen=True)
class _Sizes:
    """What was asked for; see `audit_links`."""

    self_pairs: int | None
    list_people: int | None
    k: int
    level: float


class _Audit:
    """One audit: what its parts need of each other."""

    def __init__(
        self,
        model: AuditedLinks,
        split: LinkSplit,
        worlds: Worlds,
        ends: Tensor,
        linked: Tensor,
        sizes: _Sizes,
    ) -> None:
        self.model, self.split, self.worlds, self.sizes = model, split, worlds, sizes
        self.graph, self.ends, self.linked = split.graph, ends, linked.numpy()
        self.notes: list[str] = []
        self.has_worlds = worlds.causal_model is not None
        rows = ends.numpy()
        clusters, parts = (
            PairClusters.of(*of(self.graph).cpu().numpy()[rows]) for of in (communities, regions)
        )
        self.bootstrap = PairBootstrap(clusters, parts, level=sizes.level, seed=worlds.seed)
        if has_unknown(self.graph):
            assert self.graph.sens_known is not None
            unknown = int((~self.graph.sens_known).sum())
            self.notes.append(
                f"The attribute of {unknown:,} of {len(self.graph.x):,} people is unknown: they "
                "have the value that was drawn for them, which intervals do not account for."
            )

    def measured(self) -> LinkAudit:
        """All of it."""
        scorer = scorer_in(self.model, self.split, self.graph, "factual")
        scores = scorer.pairs(self.ends)
        asked = AuditedPairs(self.model, self.split, self.ends, self._threshold(scorer, scores))
        factual = asked.decided(scores)
        chosen = self._chosen(asked)
        reader = self._reader(chosen, scorer)
        effects = self._effects(asked, factual, chosen, reader)
        with collecting(self.notes), bar("measures and intervals", total=5) as progress:
            lists = self._lists(reader)
            progress.advance()
            rows = [flip_row(one, self.bootstrap, len(scores)) for one in effects]
            progress.advance()
            estimates = self._estimates(factual, rows, lists)
            progress.advance()
            cells = self._cells(factual, effects)
            progress.advance()
            references = self._references(chosen)
            progress.advance()
        return LinkAudit(
            model=ModelInfo(self.model.name, self.model.kind, asked.threshold),
            setup=self._setup(chosen, reader),
            metrics={key: one.value for key, one in estimates.items()},
            intervals={key: one.interval for key, one in estimates.items()},
            flips=tuple(rows),
            cells=cells,
            lists=None if lists is None else lists.lists,
            references=references,
            names=Names.of(self.graph),
            graph=datasets.statistics(self.graph),
            diagnostics=self.worlds.diagnostics if self.has_worlds else None,
            notes=(*self.notes, *self.model.notes),
            pairs=table_of(self.graph, self.ends, self.linked, factual, effects),
        )

    def _threshold(self, scorer: PairScorer, scores: np.ndarray) -> float:
        if self.model.threshold is not None:
            return self.model.threshold
        if within_unit(scores):
            return HALF
        if self.model.factual_only:
            got = f"scores from {scores.min():.4g} to {scores.max():.4g} and no threshold"
            allowed = "0 to 1, unless a threshold is given"
            step = "pass threshold, such as 0 of logits"
            raise ParameterError(f"the scores {self.model.name!r}", got, allowed, step)
        val = self.split.val
        found = most_accurate(val.linked.numpy(), scorer.pairs(val.ends))
        self.notes.append(
            f"Scores go beyond 0 to 1: a link is predicted above {found:.4g}, the threshold that "
            "is most accurate on the validation pairs."
        )
        return found

    def _chosen(self, asked: AuditedPairs) -> Tensor:
        if not self.has_worlds:
            return torch.empty(0, dtype=torch.int64)
        return sampled_pairs(asked, self.worlds, self.sizes.self_pairs)

    def _reader(self, chosen: Tensor, scorer: PairScorer) -> ListReader | None:
        """What reads lists; None where nobody's are compared."""
        n, most = len(self.graph.x), self.sizes.list_people
        if self.model.factual_only:
            most = 0
        elif most is None:
            most = min(LIST_PEOPLE, COSTLY_CELLS // n) if self.model.costly else LIST_PEOPLE
        if not most:
            return None
        everyone = self.graph.canonical.rows
        people = everyone[sample(self.graph, everyone, most, self.worlds.seed)]
        ends = self.graph.canonical.by_id(self.ends[:, chosen].flatten())
        alone = ends[sample(self.graph, ends, most, self.worlds.seed)]
        reader = ListReader(self.split.input, people, alone, self.sizes.k)
        reader.factual(scorer)
        return reader

    def _effects(
        self,
        asked: AuditedPairs,
        factual: Predictions,
        chosen: Tensor,
        reader: ListReader | None,
    ) -> list[Effect]:
        if not self.has_worlds:
            if not self.model.factual_only:
                why = self.worlds.why_none
                self.notes.append(
                    f"Counterfactual metrics are undefined without a causal model: {why}"
                )
            return []
        found = measure_flips(
            asked,
            self.worlds,
            factual,
            chosen,
            (lambda *_: None) if reader is None else reader.world,
            (lambda *_: None) if reader is None else reader.own,
        )
        model = self.worlds.known_model()
        what = (
            "exact: its equations are those that made the graph"
            if model.exact
            else "a model of how the graph came about, not the truth; so are the flip rates"
        )
        self.notes.append(f"The causal model of this audit, {model.name!r}, is {what}.")
        self.notes.extend(model.notes)
        sampled, total = len(chosen), len(self.linked)
        of = f"all {total:,}" if sampled == total else f"{sampled:,} of the {total:,}"
        self.notes.append(f"Either end and both ends were measured on {of} pairs.")
        return found

    def _lists(self, reader: ListReader | None) -> MeasuredLists | None:
        if reader is None:
            return None
        return reader.measured(self.graph, level=self.sizes.level, seed=self.worlds.seed)

    def _estimates(
        self, factual: Predictions, rows: list[LinkFlips], lists: MeasuredLists | None
    ) -> dict[str, Estimate]:
        """Every metric that there is, in the order of `LINK_METRICS`."""
        seen = self.split.input
        found: dict[str, Estimate] = factual_estimates(
            self.linked,
            factual.scores,
            factual.labels,
            PairGroups.of(self.graph, self.ends.numpy()),
            # Without edges nobody has surroundings.
            surroundings_of(seen, self.ends) if seen.edge_index.shape[1] else None,
            self.bootstrap,
            k=self.sizes.k,
        )
        measured = {row.intervention: Estimate(row.rate, row.interval) for row in rows}
        unknown = Estimate(math.nan, UNDEFINED)
        found |= {key: measured.get(which, unknown) for key, which in FLIPS.items()}
        if lists is not None:
            changes = {row.intervention: row for row in lists.lists.changes}
            for key, which in (("list_change", AVERAGE), ("list_change_alone", SELF)):
                row = changes.get(which)
                found[key] = unknown if row is None else Estimate(row.change, row.interval)
            found["exposure_gap"] = lists.gap
        return {key: found[key] for key in LINK_METRICS if key in found}

    def _cells(self, factual: Predictions, effects: list[Effect]) -> tuple[Cell, ...]:
        groups = PairGroups.of(self.graph, self.ends.numpy())
        average = next((one for one in effects if one.intervention == AVERAGE), None)
        shares = None if average is None else average.flips.by_node
        return cell_rows(groups, self.linked, factual.labels, shares, self.bootstrap)

    def _references(self, chosen: Tensor) -> tuple[LinkReference, ...]:
        worlds = self.worlds if self.has_worlds else None
        return link_references(
            Compared(self.split, worlds, self.ends, self.linked, chosen, self.sizes.k)
        )

    def _setup(self, chosen: Tensor, reader: ListReader | None) -> LinkSetup:
        worlds = self.worlds
        return LinkSetup(
            dataset=self.graph.name,
            people=len(self.graph.x),
            pairs=len(self.linked),
            linked=int(self.linked.sum()),
            directed=self.graph.directed,
            self_pairs=len(chosen),
            list_people=0 if reader is None else len(reader.people),
            k=self.sizes.k,
            draws=worlds.draws,
            seed=worlds.seed,
            level=self.sizes.level,
            causal_model=None if worlds.causal_model is None else worlds.causal_model.name,
            worlds=worlds.fingerprint,
            graph=self.graph.fingerprint(),
            split=split_fingerprint(self.split),
        )


def _worlds(
    split: LinkSplit,
    worlds: Worlds | None,
    causal_model: CausalModel | None,
    draws: int,
    seed: int,
    factual_only: bool,
) -> Worlds:
    graph = split.graph
    if worlds is None:
        return Worlds(
            graph,
            None if factual_only else causal_model,
            draws=draws,
            seed=seed,
            factual_only=factual_only,
        )
    if worlds.graph is not graph and worlds.graph.fingerprint() != graph.fingerprint():
        allowed = "worlds of split.graph"
        raise ParameterError(
            "worlds", "those of another graph", allowed, "pass Worlds(split.graph)"
        )
    given = {
        "causal_model": causal_model is not None,
        "draws": draws not in (3, worlds.draws),
        "seed": seed not in (0, worlds.seed),
    }
    for which in (key for key, is_given in given.items() if is_given):
        allowed = "left out, since Worlds have one"
        raise ParameterError(which, "a value beside Worlds", allowed, "leave it out")
    if factual_only:
        return Worlds(graph, draws=worlds.draws, seed=worlds.seed, factual_only=True)
    return worlds


def _check(self_pairs: int | None, list_people: int | None, k: int, level: float) -> None:
    check_level(level)
    for what, count in (("self_pairs", self_pairs), ("list_people", list_people)):
        if count is not None and count < 0:
            raise ParameterError(what, count, "0 or more", "leave it out for the default")
    if k < 1:
        raise ParameterError("k, the places of a list", k, "at least 1", "use 10")
