"""Flags made from a settings dataclass: each optional, so that only what was typed counts."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from fairgear.cli.completers import (
    Completer,
    columns,
    dataset_names,
    datasets,
    files,
    methods,
    one_of,
)
from fairgear.datasets.source import FileOptions
from fairgear.settings import Config, OneOf, settings_of

# A switch without a --no-… form.
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
DEVICES = Parameter(completer=one_of("auto", "cpu", "cuda"))
Device = Annotated[str, DEVICES, Parameter(help="auto, cpu or cuda.")]
# What the shell completes: a dataset or a file of the user's, a file, a method, a split.
SOURCE, FILE, METHOD = (Parameter(completer=one) for one in (datasets, files, methods))
DATASET = Parameter(completer=dataset_names)
SPLIT = Parameter(completer=one_of("sixty-twenty-twenty", "released", "given"))
# For commands that carry out many runs.
_JOBS = """Runs at a time, one thread each; with 0 only the tables
of finished runs are written. [default: one a core]"""
_BACKEND = "Of joblib: loky (this machine), dask or ray (a cluster)."
Jobs = Annotated[int | None, Parameter(help=_JOBS)]
Backend = Annotated[str, Parameter(help=_BACKEND)]
# Several words behind one flag, such as --datasets bail credit.
Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]


class NotTyped:
    """Stands for a flag that was left out: None may be typed, and means something."""

    def __get_pydantic_core_schema__(self, *_: object) -> dict[str, str]:
        """Beside a flag's type: the parser checks defaults too, once somebody loads pydantic."""
        return {"type": "any"}


NOT_TYPED = NotTyped()


def options_of(
    config: type[Config],
    *,
    without: Sequence[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
    completers: Mapping[str, Completer] | None = None,
) -> type[Any]:
    """A dataclass with the fields of `config` as flags, `NOT_TYPED` unless they were typed.

    Their help texts name the defaults. A flag that is on by default, or decided by the data,
    also has a --no-… form. `names` gives flags that are not called after their fields, and
    `completers` what the shell offers for them, where that is not one of a few names.
    """
    docs, hints = field_docs(config), get_type_hints(config)
    offered = {
        name: one_of(*filter(None, setting.limit))
        for name, setting in settings_of(config).items()
        if isinstance(setting.limit, OneOf)
    } | dict(completers or {})
    fields: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(config):
        if item.name not in without:
            parameter = Parameter(
                name=(names or {}).get(item.name),
                help=docs[item.name],
                negative=None if item.default is True or hints[item.name] == bool | None else (),
                show_default=False,
                consume_multiple=hints[item.name] == list[str],
                completer=offered.get(item.name),
            )
            annotation: Any = Annotated[hints[item.name] | None, parameter, NOT_TYPED]
            fields.append((item.name, annotation, dataclasses.field(default=NOT_TYPED)))
    made = dataclasses.make_dataclass(f"{config.__name__}Options", fields, frozen=True)
    # Python 3.11 puts such classes into the module `types`, and the parser then takes them for
    # builtins.
    made.__module__ = __name__
    return made


def given(flags: Any) -> dict[str, Any]:
    """The values that were typed, by name."""
    values = {item.name: getattr(flags, item.name) for item in dataclasses.fields(flags)}
    return {name: value for name, value in values.items() if value is not NOT_TYPED}


def field_docs(config: type[Config]) -> dict[str, str]:
    """The string under each field in the source of a settings dataclass and its bases."""
    docs = {}
    for base in reversed([c for c in config.__mro__ if dataclasses.is_dataclass(c)]):
        tree = ast.parse(textwrap.dedent(inspect.getsource(base)))
        definition = tree.body[0]
        assert isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                docs[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    return docs


def examples(*commands: str) -> str:
    """The end of a help text: one example a line."""
    return "\n".join(["Examples:", *(f"  {command}" for command in commands)])


# The columns of a user's own file, the same for every command that reads one. The hash is computed.
_AGAINST = "--sensitive-against"
_SHORT = {"against": ("--against", _AGAINST)}
_COMPLETERS: dict[str, Completer] = {
    **dict.fromkeys(("label", "sensitive", "id", "drop", "categorical"), columns),
    "edges": files,
}
_DataFlags: Any = options_of(FileOptions, without=["sha256"], names=_SHORT, completers=_COMPLETERS)
DataFlags = Annotated[_DataFlags, Parameter(name="*", group="Your own data")]
NO_DATA = _DataFlags()
# For `fairgear audit`, whose --against is another model.
_AuditFlags: Any = options_of(
    FileOptions, without=["sha256"], names={"against": (_AGAINST,)}, completers=_COMPLETERS
)
AuditDataFlags = Annotated[_AuditFlags, Parameter(name="*", group="Your own data")]
NO_AUDIT_DATA = _AuditFlags()
# For `fairgear store`, which has other arguments for edges and features.
_StoreFlags: Any = options_of(
    FileOptions,
    without=["sha256", "edges", "similarity", "neighbors", "standardize"],
    names=_SHORT,
)
StoreFlags = Annotated[_StoreFlags, Parameter(name="*", group="The columns")]
NO_COLUMNS = _StoreFlags()
