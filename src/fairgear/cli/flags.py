"""Flags made from a settings dataclass: each optional, so that only what was typed counts."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, get_origin, get_type_hints

from cyclopts import Parameter

from fairgear.settings import Config

# Several words behind one flag, such as --datasets bail credit.
Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]


class NotTyped:
    """Stands for what was left out: None may be typed, and means something."""


NOT_TYPED = NotTyped()


def flags_of(config: type[Config]) -> type[Any]:
    """A dataclass with the fields of `config`, all `NOT_TYPED` unless on the command line."""
    docs, hints = field_docs(config), get_type_hints(config)
    made: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(config):
        hint = hints[item.name]
        if get_origin(hint) is dict:
            continue
        if isinstance(hint, type) and issubclass(hint, Config):
            inner = flags_of(hint)
            made.append((item.name, inner, dataclasses.field(default=inner())))
        else:
            # What a default of None comes to, the text itself says.
            default = "" if item.default is None else f" [default: {item.default}]"
            shown = docs[item.name] + default
            parameter = Parameter(help=shown, negative=(), show_default=False)
            annotation: Any = Annotated[hint | None, parameter]
            made.append((item.name, annotation, dataclasses.field(default=NOT_TYPED)))
    return _made(f"{config.__name__}Flags", made)


def options_of(config: type[Config], *, without: Sequence[str] = ()) -> type[Any]:
    """A dataclass with the fields of `config` as options without a prefix; see `flags_of`.

    Their texts say what the defaults are. What is on unless told has a --no-… beside it.
    """
    docs, hints = field_docs(config), get_type_hints(config)
    made: list[tuple[str, Any, Any]] = []
    for item in dataclasses.fields(config):
        if item.name not in without:
            parameter = Parameter(
                help=docs[item.name],
                negative=None if item.default is True else (),
                show_default=False,
                consume_multiple=hints[item.name] == list[str],
            )
            annotation: Any = Annotated[hints[item.name] | None, parameter]
            made.append((item.name, annotation, dataclasses.field(default=NOT_TYPED)))
    return _made(f"{config.__name__}Options", made)


def _made(name: str, fields: list[tuple[str, Any, Any]]) -> type[Any]:
    made = dataclasses.make_dataclass(name, fields, frozen=True)
    # Python 3.11 puts made classes into the module `types`, where the parser takes them for
    # something built in.
    made.__module__ = __name__
    return made


def given(flags: Any) -> dict[str, Any]:
    """The nested values that were typed."""
    values: dict[str, Any] = {}
    for item in dataclasses.fields(flags):
        value = getattr(flags, item.name)
        if dataclasses.is_dataclass(value):
            value = given(value)
        if value is not NOT_TYPED and value != {}:
            values[item.name] = value
    return values


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
