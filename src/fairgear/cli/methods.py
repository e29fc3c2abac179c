"""`fairgear methods`: what can be trained, and with which settings."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from fairgear.cli.output import Json, print_json, print_table

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

    found = [(name, _summary(method)) for name, method in METHODS.items()]
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
    from dataclasses import fields

    from fairgear.cli.flags import field_docs
    from fairgear.methods import METHODS

    kind = METHODS[method]
    docs, defaults = field_docs(kind.config_type), kind.config_type()
    rows = [
        (item.name, getattr(defaults, item.name), docs.get(item.name, ""))
        for item in fields(kind.config_type)
    ]
    if json:
        settings = {name: {"default": value, "meaning": meaning} for name, value, meaning in rows}
        print_json({"name": method, "summary": _summary(kind), "settings": settings})
        return
    print_table(f"Settings of {method}", ("name", "default", "meaning"), rows)


def _summary(method: type[Any]) -> str:
    """The first sentence of its docstring."""
    return " ".join((method.__doc__ or "").split("\n\n")[0].split())
