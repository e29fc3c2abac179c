"""Explained: a figure and what it means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explained:
    """One line of a table of figures."""

    name: str
    value: str
    meaning: str
