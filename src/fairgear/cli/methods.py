"""`fairgear methods`: what can be trained, and with which settings."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from fairgear.cli.output import Json, print_json, print_table
from fairgear.errors import FairgearError
from fairgear.settings import Config

methods_app = App(
    name="methods",
    help="What methods there are, and their settings.",
    help_epilogue="Examples: fairgear methods list   ·   fairgear methods show gear",
    help_format="plaintext",
)


@methods_app.command(name="list")
def list_methods(*, json: Json = False) -> None:
    """List the methods.

    Parameters
    ----------
    json
        Print one JSON object instead of a table.
    """
    from fairgear.methods import METHODS

    found = []
    for name in METHODS:
        try:
            found.append((name, _summary(METHODS[name])))
        except FairgearError as error:
            # Another package's method; the others are listed all the same.
            found.append((name, f"cannot be used: {error}"))
    if json:
        print_json({"methods": [{"name": name, "summary": summary} for name, summary in found]})
        return
    print_table("Methods", ("name", "what it is"), found)


@methods_app.command(name="show")
def show(method: str, /, *, json: Json = False) -> None:
    """Show the settings of a method, their defaults and their meaning.

    Parameters
    ----------
    method
        A name from `fairgear methods list`.
    json
        Print one JSON object instead of a table.
    """
    from fairgear.methods import METHODS

    kind = METHODS[method]
    docs, defaults = _docs(kind.config_type), kind.config_type().to_dict()
    settings = {
        name: {"default": value, "meaning": docs.get(name, "")} for name, value in defaults.items()
    }
    if json:
        print_json({"name": method, "summary": _summary(kind), "settings": settings})
        return
    rows = [(name, one["default"], one["meaning"]) for name, one in settings.items()]
    print_table(f"Settings of {method}", ("name", "default", "meaning"), rows)


def _docs(config: type[Any]) -> dict[str, str]:
    """What the fields of settings mean, those that are inherited among them."""
    from fairgear.cli.flags import field_docs

    found: dict[str, str] = {}
    for kind in reversed(config.__mro__):
        if issubclass(kind, Config):
            found |= field_docs(kind)
    return found


def _summary(method: type[Any]) -> str:
    """The first sentence of its docstring."""
    return " ".join((method.__doc__ or "").split("\n\n")[0].split())
