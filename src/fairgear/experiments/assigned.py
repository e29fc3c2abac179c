"""Settings that are typed as NAME=VALUE. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from fairgear.errors import ParameterError


def assigned(texts: Iterable[str], where: str) -> dict[str, Any]:
    """Settings from NAME=VALUE, each value as YAML reads it.

    Args:
        texts: one for each setting.
        where: what the user typed them for, for the error.
    """
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            values[name.strip().replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals or not name.strip():
            raise ParameterError(
                where,
                got=repr(text),
                allowed="NAME=VALUE, such as layers=2",
                next_step="see fairgear methods show METHOD for the names",
            )
    return values
