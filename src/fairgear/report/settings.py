"""The settings of a run or an audit, one list for each level of nesting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fairgear.report.parts import Part, mapping


@dataclass(frozen=True)
class SettingGroup:
    """The settings of one level, under the names that lead to it."""

    title: str
    rows: tuple[tuple[str, str], ...]


def setting_groups(part: Part, title: str) -> tuple[SettingGroup, ...]:
    """Its own settings first, under `title`, then those of its parts."""
    return tuple(_groups(title, "", mapping(part, "config")))


def _groups(title: str, path: str, part: Part) -> list[SettingGroup]:
    own = tuple((str(k), _written(v)) for k, v in part.items() if not isinstance(v, Mapping))
    found = [SettingGroup(title, own)] if own else []
    for name, value in part.items():
        if isinstance(value, Mapping):
            inner = f"{path}{name}"
            found += _groups(inner, f"{inner}.", value)
    return found


def _written(value: object) -> str:
    """As a settings file would have it, so that it can be copied back into one."""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
