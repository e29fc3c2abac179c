"""Flags for one's own data, the same for every command that reads them."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from fairgear.cli.flags import field_docs
from fairgear.experiments.data_config import DataConfig

# Settled by the content of the files, not by a person.
_NOT_TYPED = ("sha256",)


def _flags() -> type[Any]:
    """The fields of `DataConfig` without a prefix, all None unless given."""
    docs, hints = field_docs(DataConfig), get_type_hints(DataConfig)
    made: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(DataConfig):
        if item.name not in _NOT_TYPED:
            several = hints[item.name] == list[str]
            parameter = Parameter(
                help=docs[item.name], negative=(), show_default=False, consume_multiple=several
            )
            annotation: Any = Annotated[hints[item.name] | None, parameter]
            made.append((item.name, annotation, dataclasses.field(default=None)))
    flags = dataclasses.make_dataclass("DataFlags", made, frozen=True)
    # Python 3.11 puts made classes into the module `types`, where the parser takes them for
    # something built in.
    flags.__module__ = __name__
    return flags


_Flags: Any = _flags()
DataFlags = Annotated[_Flags, Parameter(name="*", group="Your own data")]
NO_DATA = _Flags()
