"""Seeds: whole numbers from 0 on."""

from __future__ import annotations

from fairgear.errors import ParameterError


def check_seed(name: str, seed: int) -> int:
    """`seed` if it is one; numpy and torch disagree on what else they take."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise ParameterError(name, repr(seed), "a whole number from 0 on", f"change {name}")
    return seed
