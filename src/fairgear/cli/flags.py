"""Flags made from a settings dataclass: each optional, so that only what was typed counts."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter

from fairgear.methods.config import Config


def flags_of(config: type[Config]) -> type[Any]:
    """A dataclass with the fields of `config`, all None unless given on the command line."""
    docs, hints = field_docs(config), get_type_hints(config)
    made: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(config):
        hint = hints[item.name]
        if isinstance(hint, type) and issubclass(hint, Config):
            inner = flags_of(hint)
            made.append((item.name, inner, dataclasses.field(default=inner())))
        else:
            # What a default of None comes to, the text itself says.
            default = "" if item.default is None else f" [default: {item.default}]"
            shown = docs[item.name] + default
            parameter = Parameter(help=shown, negative=(), show_default=False)
            annotation: Any = Annotated[hint | None, parameter]
            made.append((item.name, annotation, dataclasses.field(default=None)))
    flags = dataclasses.make_dataclass(f"{config.__name__}Flags", made, frozen=True)
    # Python 3.11 puts made classes into the module `types`, where the parser takes them for
    # something built in.
    flags.__module__ = __name__
    return flags


def given(flags: Any) -> dict[str, Any]:
    """The nested values that were typed."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(flags):
        value = getattr(flags, item.name)
        if dataclasses.is_dataclass(value):
            value = given(value)
        if value is not None and value != {}:
            values[item.name] = value
    return values


def field_docs(config: type[Config]) -> dict[str, str]:
    """The string under each field in the source of a settings dataclass."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(config)))
    definition = tree.body[0]
    assert isinstance(definition, ast.ClassDef)
    body = definition.body
    docs = {}
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            docs[ast.unparse(field.target)] = " ".join(ast.literal_eval(text.value).split())
    return docs
