"""Missing values of features: refused, filled, or their people left out, as the user says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairgear.errors import GraphError
from fairgear.graph.convert.features import FeatureColumn, Mask


def without_missing(
    features: Sequence[FeatureColumn],
    no_group: Mask,
    *,
    sensitive: str,
    policy: str,
    notes: list[str],
) -> tuple[list[FeatureColumn], Mask]:
    """The columns without gaps, and which rows are kept.

    Args:
        features: all but the sensitive attribute.
        no_group: the rows whose sensitive attribute is missing; nobody can guess that.
        sensitive: its column, for the message.
        policy: "refuse", "impute" or "drop".
        notes: where to say what was done.
    """
    gaps = {column.name: int(column.missing.sum()) for column in features if column.missing.any()}
    keep = ~no_group
    if policy == "drop":
        for column in features:
            keep &= ~column.missing
        if not keep.any():
            raise GraphError(
                "rows without missing values",
                f"none, with gaps in {_counted(gaps)}",
                "at least one",
                "leave columns out with --drop, or use --missing impute",
            )
        if not keep.all():
            notes.append(f"left out {int((~keep).sum()):,} of {len(keep):,} rows: missing values")
        return [column.rows(keep) for column in features], keep
    if no_group.any():
        raise GraphError(
            f"sensitive column {sensitive!r}",
            f"{int(no_group.sum())} missing values",
            "a value in every row",
            "complete it, or leave those rows out with --missing drop",
        )
    if gaps and policy == "refuse":
        raise GraphError(
            "missing values",
            _counted(gaps),
            "none, unless you say what to do with them",
            "use --missing impute to fill them (missing='impute' in Python), "
            "--missing drop to leave those rows out, or --drop to leave columns out",
        )
    if gaps:
        empty = [column.name for column in features if not column.fillable]
        if empty:
            raise GraphError(
                f"column {empty[0]!r}",
                "no value at all, nothing to fill gaps from",
                "at least one value",
                f"leave it out with --drop {empty[0]}",
            )
        notes.append(f"filled missing values of {_counted(gaps)}")
    return [column.filled() for column in features], np.ones_like(keep)


def _counted(gaps: dict[str, int]) -> str:
    shown = ", ".join(f"{name} ({count})" for name, count in list(gaps.items())[:8])
    return shown + (f" and {len(gaps) - 8} more columns" if len(gaps) > 8 else "")
