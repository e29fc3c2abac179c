"""The section of a model card that an audit fills: Markdown, ready to paste."""

from __future__ import annotations

from fairgear.metrics import METRICS
from fairgear.report.audit_headline import audit_headline
from fairgear.report.cards import card
from fairgear.report.causal_models import CausalModelRow, causal_model_section
from fairgear.report.flips import flip_section
from fairgear.report.groups import group_section
from fairgear.report.markdown import bullets, inline, line, table
from fairgear.report.numbers import stated_level
from fairgear.report.parts import Part, mapping, notes, whole

_READING = (
    "δCF is the share of people whose answer changes when everybody's sensitive attribute is set "
    "to 0, half of them to 1, or all of them to 1, averaged over the three. About half of the "
    "people keep their own attribute in such a world, so a model that copies it has a δCF near "
    "0.5. Read it only beside accuracy and AUROC: a model that gives everybody the same answer has "
    "δCF 0 and is useless."
)


def model_card(audit: Part) -> str:
    """The section of a model card on an audit, without HTML; missing parts are left out."""
    whole(audit, "audit")
    parts = [
        "## Fairness audit (fairgear)",
        _what(audit),
        _metrics(audit),
        _flips(audit),
        _groups(audit),
        _causal_models(audit),
        _cautions(audit),
        _provenance(audit),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _what(audit: Part) -> str:
    headline = audit_headline(audit)
    kind = f" ({headline.kind})" if headline.kind else ""
    on = f"{headline.people} people of " if headline.people else ""
    named = f"{headline.model}{kind} was audited on {on}{headline.dataset}."
    sentences = " ".join((named, *headline.answers, *headline.sight))
    facts = [f"{name}: {value}" for name, value in headline.facts]
    return "\n\n".join(part for part in (line(sentences), bullets(facts), _READING) if part)


def _metrics(audit: Part) -> str:
    unknown = [name for name in mapping(audit, "metrics") if name not in METRICS]
    cards = [card(audit, name) for name in (*METRICS, *unknown)]
    header = ("measure", "better", "value", f"{stated_level(audit)} % interval")
    rows = [(c.label, c.kind if c.direction else "", c.value, c.interval) for c in cards]
    return f"### Measures\n\n{table(header, rows, words=2)}"


def _flips(audit: Part) -> str:
    section = flip_section(audit)
    if section is None:
        return ""
    header = ("world", "question", "flips", f"{stated_level(audit)} % interval", "0 to 1", "1 to 0")
    rows = [
        (row.protocol, row.intervention, row.rate, row.interval, row.gains, row.losses)
        for row in section.table
    ]
    meanings = [f"{name}: {meaning}" for name, meaning in section.protocols if meaning]
    body = "\n\n".join(part for part in (table(header, rows, words=2), bullets(meanings)) if part)
    return f"### Whose answer changes, by intervention\n\n{body}"


def _groups(audit: Part) -> str:
    section = group_section(audit, in_full=True)
    if section is None:
        return ""
    gap = (section.gap_of,) if section.gap_of else ()
    rows = [
        (
            row.name,
            *(f"{value} ({ends})" if ends else value for value, ends in row.cells),
            *(gap and (row.gap,)),
        )
        for row in (*section.counts, *section.rows)
    ]
    return f"### By group\n\n{table(('people', *section.groups, *gap), rows)}"


def _causal_models(audit: Part) -> str:
    section = causal_model_section(audit)
    if section is None:
        return ""
    header = ("causal model", "what it assumes", "flips", f"{stated_level(audit)} % interval")
    rows = [(row.label, row.meaning, *_found(row)) for row in section.rows]
    body = "\n\n".join(
        part for part in (line(section.verdict), table(header, rows, words=2)) if part
    )
    return f"### How the answer moves with the causal model\n\n{body}"


def _found(row: CausalModelRow) -> tuple[str, str]:
    return ("could not be asked", row.error) if row.error else (row.rate, row.interval)


def _cautions(audit: Part) -> str:
    # A note may say what a caution says: once is enough.
    sentences = list(dict.fromkeys((*audit_headline(audit).cautions, *notes(audit))))
    return f"### Cautions and notes\n\n{bullets(sentences)}" if sentences else ""


def _provenance(audit: Part) -> str:
    """One line: the version, the data and when."""
    found = mapping(audit, "provenance")
    known = [
        f"{name} {found[key]}"
        for name, key in (
            ("fairgear", "version"),
            ("seed", "seed"),
            ("data SHA-256", "data_sha256"),
            ("finished", "finished"),
        )
        if found.get(key) is not None
    ]
    return f"Measured by {inline(', '.join(known))}." if known else ""
