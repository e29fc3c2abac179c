"""Flags for a user's own file, the same for every command that reads one."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from fairgear.cli.flags import options_of
from fairgear.datasets.source import FileOptions

# The hash is computed from the files.
_Flags: Any = options_of(FileOptions, without=["sha256"])
DataFlags = Annotated[_Flags, Parameter(name="*", group="Your own data")]
NO_DATA = _Flags()
# For a stored graph: its edges and features are arguments of their own.
_StoreFlags: Any = options_of(
    FileOptions, without=["sha256", "edges", "similarity", "neighbors", "standardize"]
)
StoreFlags = Annotated[_StoreFlags, Parameter(name="*", group="The columns")]
NO_COLUMNS = _StoreFlags()
