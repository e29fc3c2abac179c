"""Names to things, including those that other packages register by entry points."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from fairgear.errors import FairgearError, ParameterError, UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """A named collection of interchangeable things: datasets, methods, metrics, splits.

    Args:
        kind: what they are, for messages.
        group: the entry-point group in which other packages register theirs. Such an entry is
            imported when it is looked up, never before.
        base: the class that entries from elsewhere must derive from.
        order: names in the order in which they are listed, whichever module is imported first.
    """

    def __init__(
        self,
        kind: str,
        *,
        group: str = "",
        base: type | None = None,
        order: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self._group = group
        self._base = base
        self._order = tuple(order)
        self._entries: dict[str, T] = {}

    def add(self, name: str, entry: T) -> T:
        """Register `entry`; a name can be taken once."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self._entries[name] = entry
        return entry

    def __getitem__(self, name: str) -> T:
        """The entry of that name.

        Fairgear's own names take precedence over those of other packages. An unknown name is an
        error that lists the known ones and suggests the nearest.
        """
        if name in self._entries:
            return self._entries[name]
        plugin = self._plugins().get(name)
        if plugin is not None:
            owner = plugin.dist.name if plugin.dist is not None else plugin.module
            what = f"{self.kind} {name!r} of the package {owner}"
            allowed = "a package that can be imported"
            return self._checked(what, _attempt(what, plugin.load, allowed, plugin.module))
        near = difflib.get_close_matches(name, self, n=1)
        step = f"did you mean {near[0]!r}" if near else f"choose a {self.kind} from the list"
        raise UnknownNameError(f"unknown {self.kind}", repr(name), ", ".join(self), step)

    def resolve(self, name: str) -> T:
        """The entry of a name that the user typed, or the class MODULE:NAME.

        That is code, which is imported from the current folder or anywhere: names that a file
        holds must not get here.
        """
        if self._base is not None and ":" in name and name not in self:
            return self._checked(f"{self.kind} {name}", import_object(name, self.kind))
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._plugins()

    def __iter__(self) -> Iterator[str]:
        first = {name: None for name in self._order if name in self._entries}
        return iter({**first, **self._entries, **self._plugins()})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def items(self) -> list[tuple[str, T]]:
        """All names with their entries, own ones first, in their order."""
        return [(name, self[name]) for name in self]

    def _plugins(self) -> dict[str, EntryPoint]:
        found = entry_points(group=self._group) if self._group else ()
        return {plugin.name: plugin for plugin in found}

    def _checked(self, what: str, found: Any) -> T:
        if self._base is not None and not (
            isinstance(found, type) and issubclass(found, self._base)
        ):
            base = self._base.__name__
            raise ParameterError(
                what, f"{found!r}", f"a subclass of {base}", f"derive the class from {base}"
            )
        entry: T = found
        return entry


def import_object(text: str, kind: str) -> Any:
    """The Python object MODULE:NAME, from the current folder or anywhere on the path."""
    module, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)

    def load() -> Any:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    allowed = "MODULE:NAME of an object that can be imported from here"
    return _attempt(f"{kind} {text}", load, allowed, module)


def _attempt(what: str, load: Callable[[], Any], allowed: str, module: str) -> Any:
    """Somebody else's code may fail in any way; say how on one line."""
    try:
        return load()
    except FairgearError:
        raise
    except (Exception, SystemExit) as error:
        reason = (str(error).splitlines() or [""])[0]
        got = f"{type(error).__name__}: {reason}"
        step = f"try python -c 'import {module}' in this folder"
        raise ParameterError(what, got, allowed, step) from error
