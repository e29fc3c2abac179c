"""A causal diagram: which columns follow from which, and from the sensitive attribute."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Self

from fairgear.documents import DocumentError, yaml_of
from fairgear.errors import FileError, ParameterError
from fairgear.evidence import note_content
from fairgear.reading import content_of, reading

SUFFIXES = (".yaml", ".yml", ".gml", ".dot", ".gv")
# Bounds that no drawing of people reaches: of a file, and of what its few words may stand for.
MOST_TEXT, MOST_ARROWS = 2**20, 2**20
_KEYS = ("parents", "resolving", "sensitive")
_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/ | \#[^\n]*             # left out
    | (?P<quoted> "(?:[^"\\]|\\.)*" )
    | (?P<name> [^\W\d]\w* | -?(?:\.\d+|\d+(?:\.\d*)?) )  # identifiers and numbers
    | (?P<mark> -> | [{}\[\];,=] )""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Diagram:
    """A directed acyclic graph over a table's columns and the sensitive attribute.

    A category counts as one node, under the name of its column before it was encoded. What is not
    in the diagram follows from nothing.

    Args:
        parents: of each node that has any.
        resolving: nodes that keep their values whatever the attribute is.
        sensitive: the attribute's node; the name of its column, if the table has one.

    Example:
        >>> from fairgear.causal import Diagram, FeatureSequential, with_features
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> graph.feature_names
        ['x0', 'x1', 'x2', 'x3', 'x4']
        >>> diagram = Diagram({"x3": ["x2"]}, sensitive="x2")
        >>> model = with_features(FeatureSequential(diagram=diagram), graph)
        >>> changed = model.counterfactual(graph, 1 - graph.sens).x != graph.x
        >>> changed.any(dim=0).tolist()
        [False, False, True, True, False]
    """

    parents: Mapping[str, Sequence[str]]
    resolving: Sequence[str] = ()
    sensitive: str | None = None
    order: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """All nodes, parents first."""

    def __post_init__(self) -> None:
        known = {name: tuple(dict.fromkeys(of)) for name, of in self.parents.items()}
        for name in [parent for of in known.values() for parent in of]:
            known.setdefault(name, ())
        try:
            order = tuple(TopologicalSorter(known).static_order())
        except CycleError as error:
            cycle = " -> ".join(error.args[1])
            raise _wrong(f"the cycle {cycle}", "no cycles", "take one of its arrows out") from None
        object.__setattr__(self, "parents", known)
        object.__setattr__(self, "resolving", tuple(self.resolving))
        object.__setattr__(self, "order", order)

    @classmethod
    def from_networkx(
        cls, graph: Any, *, resolving: Sequence[str] = (), sensitive: str | None = None
    ) -> Self:
        """From a `networkx.DiGraph`."""
        if not graph.is_directed():
            raise _wrong("an undirected graph", "arrows from causes to effects", "use a DiGraph")
        parents = {str(node): [str(p) for p in graph.predecessors(node)] for node in graph.nodes}
        return cls(parents, resolving, sensitive)

    @classmethod
    def from_gml(cls, text: str) -> Self:
        """From GML, which networkx reads; node labels are the columns' names."""
        try:
            nx = importlib.import_module("networkx")
        except ImportError as error:
            allowed, step = "GML where networkx is installed", "pip install fairgear[networkx]"
            raise _wrong("GML, and networkx is missing", allowed, step) from error
        try:
            graph = nx.parse_gml(text)
        # The reader passes on any error of what it is made of.
        except Exception as error:
            step = "check the file, or write a YAML of parents"
            said = " ".join(str(error).split())[:120]
            raise _wrong(f"no GML ({said})", "GML of a directed graph", step) from error
        return cls.from_networkx(graph)

    @classmethod
    def from_dot(cls, text: str) -> Self:
        """From `digraph { a -> b; "x y" -> {z w} [label="…"]; a; }`; attributes are left out."""
        return cls(_Dot(text).parents())

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """From the parents of each column, `income: [sex, job]`.

        They stand at the top level, or under `parents`; then `resolving: [job]` may list columns
        that keep their values, and `sensitive: sex` name the attribute.
        """
        try:
            # Everything is text: a column may be called no, or 1.
            held = yaml_of(text, texts=True)
        except DocumentError as error:
            raise _wrong(f"no YAML ({error})", "YAML of parents", "check the file") from error
        if not isinstance(held, dict) or not held:
            raise _wrong("no mapping", "income: [sex, job]", "list the parents of each column")
        if not isinstance(held.get("parents"), dict):
            held = {"parents": held}
        for key in held.keys() - set(_KEYS):
            raise _wrong(f"the key {key!r}", ", ".join(_KEYS), "put columns under parents")
        parents = {name: _names(of, name) for name, of in held["parents"].items()}
        resolving = _names(held.get("resolving", []), "resolving")
        sensitive = held.get("sensitive")
        if not isinstance(sensitive, str | None):
            raise _wrong("no name at 'sensitive'", "sensitive: sex", "name one column")
        return cls(parents, resolving, sensitive)

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """From a file: .yaml or .yml, .gml, .dot or .gv."""
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            allowed, step = ", ".join(SUFFIXES), "rename the file, or convert it"
            raise FileError(f"diagram {path}", f"suffix {path.suffix!r}", allowed, step)
        reader = {".yaml": cls.from_yaml, ".yml": cls.from_yaml, ".gml": cls.from_gml}.get(
            suffix, cls.from_dot
        )
        content = content_of(path, "diagram")
        note_content(path, content)
        allowed, step = f"text of at most {MOST_TEXT:,} bytes in UTF-8", "check the path"
        if len(content) > MOST_TEXT:
            raise FileError(f"diagram {path}", f"{len(content):,} bytes", allowed, step)
        with reading(path, "no text", allowed, step, what="diagram"):
            text = content.decode("utf-8-sig")
        try:
            return reader(text)
        except ParameterError as error:
            # The same sentence, with the file's name.
            what = f"diagram {path}"
            raise ParameterError(what, error.got, error.allowed, error.next_step) from error

    def attribute(self, columns: Iterable[str], column: str | None) -> str:
        """The attribute's node, if the diagram fits a table; an error otherwise.

        Args:
            columns: the table's, categories as one, without the attribute's.
            column: the attribute's column, None if the table has none.
        """
        name = self.sensitive if self.sensitive is not None else column
        if name is None:
            got = "no word on which node is the attribute, which has no column in the table"
            raise _wrong(got, "its name", "add sensitive: NAME")
        columns = list(columns)
        unknown = [node for node in (*self.order, *self.resolving) if node not in (*columns, name)]
        if unknown or name in columns:
            got = f"{name!r} as the attribute" if name in columns else f"{unknown[0]!r}"
            allowed = f"the table's columns: {', '.join([*columns, *([column] if column else [])])}"
            raise _wrong(got, allowed, "correct the name")
        if self.parents.get(name):
            got = f"{', '.join(self.parents[name])} as a cause of the attribute {name!r}"
            raise _wrong(got, "an attribute without causes", "take these arrows out")
        return name

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; `Diagram(**…)` reads it."""
        parents = {name: list(of) for name, of in self.parents.items()}
        held = {"parents": parents, "resolving": list(self.resolving)}
        return {**held, "sensitive": self.sensitive}


class _Dot:
    """A reader of the part of DOT that diagrams are written in."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        # A quoted keyword or mark is a name.
        self._names: list[bool] = []
        self._quoted: list[bool] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._unreadable(text[at : at + 12].split("\n")[0])
            at = found.end()
            token = found[0]
            if found["quoted"]:
                token = re.sub(r"\\(.)", r"\1", token[1:-1])
            if found.lastgroup is not None:
                self._tokens.append(token)
                self._names.append(found["mark"] is None)
                self._quoted.append(found["quoted"] is not None)
        self._at = self._arrows = 0

    def parents(self) -> dict[str, list[str]]:
        if self._peek().lower() == "strict":
            self._at += 1
        if self._peek().lower() != "digraph":
            raise self._unreadable(self._peek())
        self._at += 1
        if self._is_name():
            self._at += 1
        self._take("{")
        found: dict[str, list[str]] = {}
        while self._mark() != "}":
            self._statement(found)
        return found

    def _statement(self, found: dict[str, list[str]]) -> None:
        keyword = self._peek().lower() in ("node", "edge", "graph")
        keyword = keyword and not self._quoted[self._at]
        before = self._ends()
        if self._mark() == "=":
            self._at += 1
            self._ends()
        elif not keyword:
            for name in before:
                found.setdefault(name, [])
            while self._mark() == "->":
                self._at += 1
                after = self._ends()
                self._arrows += len(before) * len(after)
                if self._arrows > MOST_ARROWS:
                    raise _many(self._arrows)
                for name in after:
                    found.setdefault(name, []).extend(before)
                before = after
        while self._mark() == "[":
            while self._mark() != "]":
                self._at += 1
            self._at += 1
        if self._mark() in (";", ","):
            self._at += 1

    def _ends(self) -> list[str]:
        """One name, or several in braces."""
        if self._is_name():
            self._at += 1
            return [self._tokens[self._at - 1]]
        self._take("{")
        names = []
        while self._mark() != "}":
            if self._is_name():
                names.append(self._peek())
            elif self._mark() not in (";", ","):
                raise self._unreadable(self._peek())
            self._at += 1
        self._at += 1
        return names

    def _is_name(self) -> bool:
        self._peek()
        return self._names[self._at]

    def _peek(self) -> str:
        if self._at >= len(self._tokens):
            raise self._unreadable("the end of the text")
        return self._tokens[self._at]

    def _mark(self) -> str:
        """The next token if it is a mark; a name may look like one."""
        token = self._peek()
        return "" if self._names[self._at] else token

    def _take(self, token: str) -> None:
        if self._mark() != token:
            raise self._unreadable(self._peek())
        self._at += 1

    def _unreadable(self, got: str) -> ParameterError:
        allowed = 'digraph { a -> b; "x y" -> {z w}; }'
        return _wrong(f"{got!r}, which cannot be read here", allowed, "write it so, or as YAML")


def _many(count: int) -> ParameterError:
    return _wrong(f"{count:,} arrows", f"at most {MOST_ARROWS:,}", "draw those that matter")


def _names(held: object, name: str) -> list[str]:
    if isinstance(held, str):
        return [held] if held else []
    if not isinstance(held, list) or not all(isinstance(one, str) for one in held):
        raise _wrong(f"no list of names at {name!r}", "[sex, job]", "list column names")
    return held


def _wrong(got: str, allowed: str, step: str) -> ParameterError:
    return ParameterError("diagram", got, allowed, step)
