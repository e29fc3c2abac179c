"""The section of a model card that an audit fills: Markdown, ready to paste."""

from __future__ import annotations

from fairgear.auditing import Audit
from fairgear.metrics import EVERY_METRIC
from fairgear.report.governance import assumptions, bias_terms, data_governance
from fairgear.report.markdown import bullets, inline, line, table
from fairgear.report.numbers import between, level_of, measure
from fairgear.report.sections.flips import causal_model_name, flip_section
from fairgear.report.sections.groups import Cell, group_section
from fairgear.report.sections.headline import headline
from fairgear.report.sections.unknown import unknown_section
from fairgear.report.sections.unmeasured import not_measured
from fairgear.text import visible

_READING = "δCF is the share of people whose answer changes when everybody's sensitive attribute is"
_WORLDS_OF_TWO = (
    "set to 0, half of them to 1, or all of them to 1, averaged over the three. About half of the "
    "people keep their own attribute in such a world, so a model that copies it has a δCF near 0.5."
)
_WORLDS_OF_GROUPS = "set to each group in turn, or evenly mixed, averaged over these worlds."
_WORLDS_OF_A_NUMBER = (
    "set to each of five of its quantiles, or changes hands at random, averaged over the six "
    "worlds."
)
_USELESS = (
    "Read it only beside accuracy and AUROC: a model that gives everybody the same answer has "
    "δCF 0 and is useless."
)


def model_card(audit: Audit) -> str:
    """The section of a model card on an audit, without HTML.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.report import model_card
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.sens.float(), toy_graph(), what_if_people=0)
        >>> model_card(audit).splitlines()[0]
        '## Fairness audit (fairgear)'
    """
    first = headline(audit)
    level = f"{level_of(audit.setup.level)} % interval"
    # A note may repeat a caution.
    cautions = list(dict.fromkeys((*first.cautions, *audit.notes)))
    if audit.unknown is not None:
        cautions = [one for one in cautions if one != audit.unknown.summary]
    people = f"{audit.setup.people:,} people of {audit.setup.dataset}"
    named = f"{audit.model.name} ({audit.model.kind}) was audited on {people}."
    findings = [] if audit.probes is None else audit.probes.findings()
    parts = [
        "## Fairness audit (fairgear)",
        line(" ".join((named, *first.answers, *findings))),
        bullets([f"{name}: {value}" for name, value in first.facts]),
        _reading(audit),
        "### Measures",
        _metrics(audit, level),
        *_flips(audit, level),
        "### By group",
        *_groups(audit),
        *_unknown(audit),
        *_causal_models(audit, level),
        *assumptions(audit),
        *data_governance(audit),
        *bias_terms(audit),
        *(["### Cautions and notes", bullets(cautions)] if cautions else []),
        *_provenance(audit),
    ]
    # Names of people's data may hold characters that steer direction or terminals.
    return visible("\n\n".join(parts) + "\n")


def _reading(audit: Audit) -> str:
    """What δCF is, for people who have not seen it before."""
    two = _WORLDS_OF_TWO if audit.two_groups else _WORLDS_OF_GROUPS
    return " ".join((_READING, _WORLDS_OF_A_NUMBER if audit.names.number else two, _USELESS))


def _metrics(audit: Audit, level: str) -> str:
    rows = [
        (metric.label, metric.direction, measure(audit.metrics[k]), between(audit.intervals[k]))
        for k, metric in EVERY_METRIC.items()
        if k in audit.metrics
    ]
    return table(("measure", "better", "value", level), rows, words=2)


def _flips(audit: Audit, level: str) -> list[str]:
    section = flip_section(audit)
    if section is None:
        return ["### Whose answer changes, by intervention", f"Not measured: {not_measured(audit)}"]
    rows = [
        (
            row.protocol,
            row.intervention,
            measure(row.rate),
            between(row.interval),
            measure(row.gains),
            measure(row.losses),
        )
        for row in section.rows
    ]
    header = ("world", "question", "flips", level, *section.ways)
    meanings = [f"{name}: {meaning}" for name, meaning in section.protocols]
    title = "### Whose answer changes, by intervention"
    return [title, table(header, rows, words=2), bullets(meanings)]


def _groups(audit: Audit) -> list[str]:
    section = group_section(audit)
    header = ("people", "how many", "label unknown", *(one.name for one in section.columns))
    # The people whose attribute is unknown stand below the last groups.
    tables: list[tuple[str, list[tuple[str, ...]]]] = []
    for block in section.blocks:
        if block.title or not tables:
            tables.append((block.title, []))
        rows = tables[-1][1]
        rows += [(of.name, of.people, of.unlabelled, *map(_cell, of.cells)) for of in block.lines]
        rows += [(block.gap_of, "", "", *block.gaps)] if block.gaps else []
    shown = [
        text
        for title, rows in tables
        for text in ([line(f"By {title}:")] if title else []) + [table(header, rows)]
    ]
    meanings = [f"{column.name}: {column.meaning}" for column in section.columns]
    return [*shown, bullets([*meanings, *section.tests])]


def _cell(cell: Cell) -> str:
    """A figure with its interval, and on which side of the four-fifths line it is."""
    shown = f"{cell.value} ({cell.interval})" if cell.interval else cell.value
    return f"{shown}: {cell.words}" if cell.words else shown


def _unknown(audit: Audit) -> list[str]:
    if audit.unknown is None:
        return []
    found = unknown_section(audit, audit.unknown)
    rows = [(one.name, one.value, one.over, one.bounds) for one in found.rows]
    header = ("measure", "value", "over completions", "over all assignments")
    title, sentences = "### People whose attribute is unknown", (*found.sentences, *found.legend)
    return [
        title,
        bullets(sentences),
        table(("people", "in all", "unknown"), found.parts),
        table(header, rows),
    ]


def _causal_models(audit: Audit, level: str) -> list[str]:
    found = audit.causal_models
    if found is None:
        return []
    rows = [
        (causal_model_name(row), row.meaning, row.error, "not available", "")
        if row.error
        else (
            causal_model_name(row),
            row.meaning,
            row.remark,
            measure(row.rate),
            between(row.interval),
        )
        for row in found.rows
    ]
    header = ("causal model", "what it assumes", "remark", "flips", level)
    title = "### How the answer depends on the causal model"
    return [title, line(found.verdict), table(header, rows, words=3)]


def _provenance(audit: Audit) -> list[str]:
    """The version and when, the command, and the files that were read."""
    found = audit.provenance
    if found is None:
        return []
    known = (
        f"fairgear {found.version}, Python {found.python}, PyTorch {found.torch}, "
        f"seed {found.seed}, graph fingerprint {found.graph_fingerprint}, finished {found.finished}"
    )
    rows = [(file.path, file.role, file.sha256) for file in found.files]
    return [
        "### Where the numbers come from",
        f"Measured by {inline(known)}.",
        *([f"Command: {inline(found.command)}"] if found.command else []),
        *([table(("file that was read", "what", "SHA-256"), rows, words=3)] if rows else []),
    ]
