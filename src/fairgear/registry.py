"""Names to things: an unknown name lists the known ones and suggests the nearest."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Generic, TypeVar

from fairgear.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """A named collection of interchangeable things: datasets, methods, metrics, splits."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Register `entry`; a name can be taken once."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            near = difflib.get_close_matches(name, self._entries, n=1)
            step = f"did you mean {near[0]!r}?" if near else f"choose a {self.kind} from the list"
            raise UnknownNameError(
                f"unknown {self.kind}", repr(name), ", ".join(self._entries), step.rstrip("?")
            )
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """All names with their entries, in order of registration."""
        return list(self._entries.items())
