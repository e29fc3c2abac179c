"""Flags for one's own data, the same for every command that reads them."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from fairgear.cli.flags import options_of
from fairgear.experiments.data_config import DataConfig

# The hash is settled by the content of the files, not by a person.
_Flags: Any = options_of(DataConfig, without=["sha256"])
DataFlags = Annotated[_Flags, Parameter(name="*", group="Your own data")]
NO_DATA = _Flags()
