"""Checkup: a file's columns, findings, and the command that works."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairgear.column_names import listed, sensitive_columns
from fairgear.datasets.checkup.columns import (
    ColumnFacts,
    column_facts,
    column_findings,
    copy_findings,
    missing_findings,
)
from fairgear.datasets.checkup.finding import Finding, changed, command
from fairgear.datasets.checkup.groups import group_findings
from fairgear.datasets.checkup.inferred import inferred
from fairgear.datasets.checkup.names import corrected
from fairgear.datasets.checkup.people import graph_findings, id_findings, label_findings
from fairgear.datasets.source import FileOptions, GraphSource
from fairgear.errors import FairgearError
from fairgear.graph.read_graph import read_source
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.tables.table_graph import TableSource
from fairgear.progress import quiet

# Answers to what is refused may bring up what else is refused.
_ROUNDS = 5


@dataclass(frozen=True, eq=False)
class Checkup:
    """What was found in a file.

    Args:
        file: its name.
        people: rows of its table.
        columns: what they were read as.
        inferred: what label, groups and edges are with the settings of `command`.
        findings: what its owner should know, what is refused first.
        accepted: whether `fairgear run` takes the file with these settings.
        command: `fairgear run` with settings that it takes, tried out; None if none were found.
    """

    file: str
    people: int
    columns: tuple[ColumnFacts, ...]
    inferred: Mapping[str, str]
    findings: tuple[Finding, ...]
    accepted: bool
    command: str | None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.file,
            "accepted": self.accepted,
            "people": self.people,
            "columns": [one.to_dict() for one in self.columns],
            "inferred": dict(self.inferred),
            "findings": [one.to_dict() for one in self.findings],
            "command": self.command,
        }


def check_up(source: GraphSource) -> Checkup:
    """Examine the file of `source` as `fairgear run` would read it."""
    with quiet():
        try:
            table = _read(source)
        except FairgearError as error:
            # Nothing can be said about what cannot be read.
            return Checkup(source.dataset, 0, (), {}, (_refusal(error),), False, None)
        facts, findings = _examined(table, source)
        graph, refusal = _tried(source)
        if refusal is not None and not any(one.refused for one in findings):
            findings.insert(0, refusal)
        options = source.data if graph is not None else None
        if graph is None:
            options, graph, last = _repaired(source, [one.name for one in facts], findings)
            findings += last
        read_as: dict[str, str] = {}
        if graph is not None and options is not None:
            findings += graph_findings(graph, options.columns())
            read_as = inferred(graph, options.columns())
    findings.sort(key=lambda one: not one.refused)
    works = None if options is None else command(source.dataset, options)
    accepted = refusal is None
    people, held = len(table.nodes), tuple(facts)
    return Checkup(source.dataset, people, held, read_as, tuple(findings), accepted, works)


def _read(source: GraphSource) -> TableSource:
    return read_source(source.dataset, source.data.columns(), source.data.edges or None)


def _examined(table: TableSource, source: GraphSource) -> tuple[list[ColumnFacts], list[Finding]]:
    """Every finding that needs no graph."""
    nodes = table.nodes
    if nodes.index.name is not None and nodes.index.name not in nodes.columns:
        nodes = nodes.reset_index()
    table = replace(table, nodes=nodes.rename(columns=str))
    columns = table.columns
    names = list(table.nodes.columns)
    if len(set(names)) < len(names):
        return [], []
    facts = column_facts(table, columns, sensitive_columns(columns.sensitive, names))
    findings = [Finding("reading", note) for note in table.notes]
    findings += [_refusal(error) for error in source.unknown_names(names)]
    findings += _option_findings(table, source.data, facts)
    findings += column_findings(table, columns, facts)
    findings += label_findings(table, columns, facts)
    # A name that is unknown is said already.
    if not any(one.about == "--sensitive" for one in findings):
        findings += group_findings(table, columns, facts)
    findings += copy_findings(facts)
    findings += missing_findings(facts, columns)
    findings += id_findings(table, columns, facts)
    return facts, findings


def _option_findings(
    table: TableSource, options: FileOptions, facts: list[ColumnFacts]
) -> Iterator[Finding]:
    """Settings that are missing, or name columns that are not there."""
    two = listed([one.name for one in facts if one.distinct == 2])
    for option in ("label", "sensitive"):
        if not getattr(options, option):
            said = f"none given; columns with two values: {two or 'none'}"
            yield Finding(f"--{option}", said, {}, f"name one: --{option} COLUMN", True)
    try:
        table.columns.check_edges(given=table.edges is not None)
    except FairgearError as error:
        change: dict[str, Any] = {}
        if table.edges is None:
            change = {"similarity": 0.7, "standardize": True}
        yield Finding("edges", str(error.got), change, "--edges FILE" if change else "", True)


def _tried(source: GraphSource) -> tuple[SensitiveGraph | None, Finding | None]:
    """The graph as `fairgear run` would make and split it, or why it refuses."""
    try:
        checked = source.checked()
        return checked.with_default_split().load(), None
    except FairgearError as error:
        return None, _refusal(error)


def _repaired(
    source: GraphSource, names: list[str], findings: list[Finding]
) -> tuple[FileOptions | None, SensitiveGraph | None, list[Finding]]:
    """Settings that work, their graph, and what is refused once the findings are answered."""
    later: list[Finding] = []
    for _ in range(_ROUNDS):
        options = changed(source.data, findings)
        options = corrected(options, names) or options
        if options == source.data:
            return None, None, later
        source = replace(source, data=options)
        try:
            graph, refusal = _tried(source)
            if graph is not None:
                return options, graph, later
            findings = _examined(_read(source), source)[1]
        except FairgearError as error:
            return None, None, [*later, _refusal(error)]
        assert refusal is not None
        if not any(one.refused for one in findings):
            return None, None, [*later, refusal]
    return None, None, later


def _refusal(error: FairgearError) -> Finding:
    said = f"got {error.got}; allowed: {error.allowed}"
    return Finding(error.what, said, {}, error.next_step, True)
