"""What an audit could not measure: the sections that say so, and why."""

from __future__ import annotations

from fairgear.auditing import Audit, ScoresAdapter


def unmeasured(audit: Audit) -> tuple[str, ...]:
    """The ids of the sections about other worlds, where no answers there are known."""
    if audit.flips:
        return ()
    held = {
        "explorer": audit.what_if,
        "flips": audit.flips,
        "causal-models": audit.causal_models,
        "causal-model": audit.diagnostics,
    }
    return tuple(id for id, content in held.items() if not content)


def not_measured(audit: Audit) -> str:
    """Why nothing is known of other worlds."""
    if audit.model.kind == ScoresAdapter.kind:
        return (
            "a file of scores says what people get as they are, and nothing about other worlds. "
            "Audit the model itself, or have exported worlds scored (fairgear audit export)."
        )
    return "there is no causal model for this graph."
