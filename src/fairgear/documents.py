"""Documents: JSON and YAML as plain values, with bounds on size and depth.

Plain values are None, true and false, numbers, text, lists, and mappings from text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import yaml

from fairgear.files import json_ready
from fairgear.reading import content_of, reading

# Lists and mappings inside each other.
DEPTH = 40
# Characters of a YAML text, which people write; parsing a longer one takes many seconds.
MOST_YAML = 2**20
# Values that aliases may repeat: some lines of a recipe, no bomb.
MOST_REPEATED = 10_000
# Of a sealed mapping: the key of its hash.
_SEAL = "sha256"
# Characters of a number: longer ones are no settings, and take long to read.
_DIGITS = 400
# The key of mappings that are merged into the one around them.
_MERGED = "<<"
_PARSER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_RESOLVER: Any = yaml.resolver.Resolver()
_PLAIN: Any = yaml.constructor.SafeConstructor()
_MADE = {
    f"tag:yaml.org,2002:{name}": getattr(_PLAIN, f"construct_yaml_{name}")
    for name in ("null", "bool", "int", "float")
}


class DocumentError(ValueError):
    """A text that is no plain document; the message says why."""


def yaml_of(text: str, *, texts: bool = False) -> Any:
    """The value that a YAML text spells.

    Tags, keys that are no text, keys that are repeated, and several documents are refused. A date
    stays text. Aliases may repeat so much and no more.

    Args:
        text: as people write it.
        texts: everything is text: a column may be called no, or 1.
    """
    if len(text) > MOST_YAML:
        raise DocumentError(f"{len(text):,} characters, more than {MOST_YAML:,}")
    try:
        return _Composer(text, texts).document()
    except DocumentError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        # Halves of characters, and numbers that look like one, are ValueErrors.
        raise DocumentError(f"no valid YAML: {error}") from error


def read_yaml(path: Path, got: str, allowed: str, next_step: str, *, what: str) -> Any:
    """The value in a YAML file; see `reading` for the arguments and `yaml_of` for the rules."""
    content = content_of(path, what)
    with reading(path, got, allowed, next_step, what=what):
        return yaml_of(content.decode("utf-8-sig"))


def json_of(text: str | bytes, *, constants: bool = False) -> Any:
    """The value that a JSON text spells; NaN and infinity are no JSON, unless `constants`."""
    try:
        value = json.loads(text, parse_constant=None if constants else _refuse_constant)
    except RecursionError:
        raise DocumentError("nested too deep") from None
    opened = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else len(text)
    if opened > DEPTH:
        _check_depth(value)
    return value


def read_json(path: Path, got: str, allowed: str, next_step: str, *, what: str = "file") -> Any:
    """The value in a JSON file; see `reading` for the arguments."""
    content = content_of(path, what)
    with reading(path, got, allowed, next_step, what=what):
        return json_of(content)


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping for a JSON file, with a hash of its content."""
    ready: dict[str, Any] = json_ready(values)
    return {**ready, _SEAL: _content_hash(ready)}


def unsealed(held: Any) -> dict[str, Any]:
    """What was sealed; refused if it was changed. Files of earlier versions have no hash."""
    if not isinstance(held, dict):
        raise DocumentError("no mapping")
    values = {key: value for key, value in held.items() if key != _SEAL}
    if held.get(_SEAL, _content_hash(values)) != _content_hash(values):
        raise DocumentError("other content than was written")
    return values


def _content_hash(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


class _Composer:
    """Puts a value together from what the parser meets, one thing after the other."""

    def __init__(self, text: str, texts: bool) -> None:
        kinds = (yaml.NodeEvent, yaml.CollectionEndEvent)
        self._events = (e for e in yaml.parse(text, Loader=_PARSER) if isinstance(e, kinds))
        self._texts = texts
        # What an anchor (&name) stands for, and how many values that are.
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._count = self._repeated = 0

    def document(self) -> Any:
        """The only document."""
        first = next(self._events, None)
        value = None if first is None else self._value(first, DEPTH)
        if next(self._events, None) is not None:
            raise DocumentError("several documents in one")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(str(event.anchor))
        if event.tag is not None:
            raise DocumentError(f"the tag {event.tag}; values are read as they are spelled")
        before = self._count
        self._count += 1
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        else:
            value = self._collection(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._count - before
        return value

    def _alias(self, name: str) -> Any:
        # An anchor is known once it is complete: nothing holds itself.
        if name not in self._anchors:
            raise DocumentError(f"the alias *{name} without an anchor before it")
        value, size = self._anchors[name]
        self._count += size
        self._repeated += size
        if self._repeated > MOST_REPEATED:
            raise DocumentError(f"aliases that repeat more than {MOST_REPEATED:,} values")
        return value

    def _collection(self, event: Any, depth: int) -> Any:
        if not depth:
            raise _too_deep()
        entries = self._entries(depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return list(entries)
        found: dict[str, Any] = {}
        for key, value in zip(entries, entries, strict=True):
            if not isinstance(key, str) or key in found:
                why = "twice" if isinstance(key, str) else "which is no text"
                raise DocumentError(f"the key {str(key)[:40]!r}, {why}")
            found[key] = value
        return found if self._texts or _MERGED not in found else _merged(found)

    def _entries(self, depth: int) -> Iterator[Any]:
        while not isinstance(event := next(self._events), yaml.CollectionEndEvent):
            yield self._value(event, depth - 1)

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        value: str = event.value
        # Quoted text is text.
        if self._texts or not event.implicit[0]:
            return value
        tag: str = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))
        make = _MADE.get(tag)
        if make is None:
            return value
        if len(value) > _DIGITS:
            raise DocumentError(f"a number of {len(value):,} characters")
        return make(yaml.ScalarNode(tag, value))


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name}, which is no number of JSON")


def _check_depth(value: Any) -> None:
    """Refuse values inside each other beyond `DEPTH`, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH):
        level = [
            inner
            for held in level
            for inner in (held.values() if isinstance(held, dict) else held)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _merged(found: dict[str, Any]) -> dict[str, Any]:
    """A mapping with those under `<<` in it; its own keys come first, then those of the first."""
    others = found.pop(_MERGED)
    others = others if isinstance(others, list) else [others]
    if not all(isinstance(other, dict) for other in others):
        raise DocumentError(f"the key {_MERGED!r} without a mapping to merge")
    for other in others:
        found = {**other, **found}
    return found


def _too_deep() -> DocumentError:
    return DocumentError(f"more than {DEPTH} lists and mappings inside each other")
