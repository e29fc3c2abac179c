"""`fairgear methods`: what can be trained, and with which settings."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import METHOD, Flag, examples, field_docs
from fairgear.cli.output import Json, print_json, print_table, say
from fairgear.errors import FairgearError
from fairgear.registry import Registry
from fairgear.settings import Config, settings_of

Links = Annotated[Flag, Parameter(help="Those for links, of fairgear links.")]

methods_app = App(
    name="methods",
    help="What methods there are, and their settings.",
    help_epilogue=examples(
        "fairgear methods list",
        "fairgear methods show gear",
        "fairgear methods show gear --links",
    ),
)


@methods_app.command(name="list")
def list_methods(*, links: Links = False, json: Json = False) -> None:
    """List the methods."""
    registry, found = _registry(links), []
    for name in registry:
        try:
            found.append((name, _summary(registry[name])))
        except FairgearError as error:
            # Another package's method; the others are listed all the same.
            found.append((name, f"cannot be used: {error}"))
    if json:
        print_json({"methods": [{"name": name, "summary": summary} for name, summary in found]})
        return
    print_table("Methods", ("name", "what it is"), found)


@methods_app.command(name="show")
def show(method: Annotated[str, METHOD], /, *, links: Links = False, json: Json = False) -> None:
    """Show the settings of a method: defaults, allowed values and meaning.

    Parameters
    ----------
    method
        A name from `fairgear methods list`.
    """
    kind = _registry(links).resolve(method)
    settings = dict(_settings(kind.config_type, _arguments(kind)))
    if json:
        print_json({"name": method, "summary": _summary(kind), "settings": settings})
        return
    say(f"{method}: {_summary(kind)}")
    for name, one in settings.items():
        meaning = textwrap.fill(one["meaning"], 76, initial_indent="    ", subsequent_indent="    ")
        say(f"\n{name} = {one['default']}  ({one['allowed']})\n{meaning}")


def _registry(links: bool) -> Registry[Any]:
    if links:
        from fairgear.links import LINK_METHODS

        return LINK_METHODS
    from fairgear.methods import METHODS

    return METHODS


def _settings(
    config: type[Config], arguments: dict[str, str], prefix: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting by its name, those of nested settings as `generator.steps`."""
    docs, defaults = arguments | field_docs(config), config()
    for name, setting in settings_of(config).items():
        default = getattr(defaults, name)
        if isinstance(default, Config):
            yield from _settings(type(default), {}, f"{prefix}{name}.")
            continue
        found = {"default": default, "allowed": setting.allowed(), "meaning": docs.get(name, "")}
        yield prefix + name, found


def _arguments(method: type[Any]) -> dict[str, str]:
    """The arguments that the docstring of a method describes."""
    text = (inspect.getdoc(method) or "").partition("Args:\n")[2]
    found = re.findall(r"^    (\w+): (.)(.+(?:\n {8}.+)*)", text, flags=re.MULTILINE)
    return {name: first.upper() + re.sub(r"\s+", " ", rest) for name, first, rest in found}


def _summary(method: type[Any]) -> str:
    """The first sentence of its docstring."""
    return " ".join((method.__doc__ or "").split("\n\n")[0].split())
