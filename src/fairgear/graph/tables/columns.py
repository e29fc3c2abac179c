"""What the columns of a table mean: the same names for every source, in Python and the shell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Required, TypedDict

from fairgear.column_names import CONTINUOUS, SENSITIVE_KINDS, unknown_column
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.similarity import SimilarityRule
from fairgear.graph.tables.labels import TASKS
from fairgear.graph.tables.values import Value

MISSING = ("refuse", "impute", "drop")
KEEP, DROP = UNKNOWN = ("keep", "drop")
# Columns that hold the ids unless `id` names another.
ID_NAMES = ("id", "node_id")


class ColumnOptions(TypedDict, total=False):
    """The keywords of every `from_…` function; see `TableColumns`."""

    sensitive: Required[str]
    sensitive_kind: Mapping[str, str]
    unknown: str
    label: str | None
    task: str | None
    id: str | None
    positive: Value | None
    sensitive_one: Value | None
    against: Value | None
    drop: Sequence[str]
    drop_text: bool
    categorical: Sequence[str]
    missing: str
    similarity: float | None
    neighbors: int | None
    standardize: bool
    directed: bool | None
    weight: str | None
    name: str


@dataclass(frozen=True)
class TableColumns:
    """How a table becomes a graph of people.

    Args:
        sensitive: the column of the sensitive attribute, or several such as "race,sex"; two groups
            and a number stay among the features. A comparison of a column with a number, such as
            "age<40", takes the column's place.
        sensitive_kind: by column, "binary", "categorical" or "continuous" (a number, which stands
            alone); by default more than 12 different numbers are a number, all else is groups.
        unknown: people whose sensitive attribute is missing: "keep", with a guess in `sens` and
            False in `sens_known`, or "drop", with their edges.
        label: the column of the label, missing where unknown; None without labels.
        task: "classification" or "regression"; by default two values, text and few different
            numbers are classes, many different numbers are numbers.
        id: the column of ids; by default one called id or node_id, else ids are row numbers.
        positive: the label that counts as 1, where there are two; by default the larger.
        sensitive_one: the group that counts as 1; by default the larger.
        against: the value of the sensitive column that counts as 0; all others count as 1.
        drop: columns to leave out.
        drop_text: leave out columns of free text, which are refused otherwise.
        categorical: columns of numbers that are codes, to be encoded as text is.
        missing: for missing values of features: "refuse", "impute" (median, or the most frequent
            level) or "drop" (the rows, with their edges).
        similarity: joins similar rows, see `SimilarityRule`; instead of edges.
        neighbors: see `SimilarityRule`.
        standardize: give every column but the sensitive one mean 0 and variance 1 before rows are
            compared.
        directed: whether edges go from their first end to their second; by default what the
            source says (a NetworkX DiGraph, some arcs of PyG without their twins), else not.
        weight: the column of the edge list, or the attribute of edges, with their weights.
        name: of the graph, for people.

    Example:
        >>> from fairgear.graph import TableColumns
        >>> columns = TableColumns(sensitive="race,sex", label="approved", drop=["name"])
        >>> columns.missing
        'refuse'
    """

    sensitive: str
    label: str | None = None
    task: str | None = None
    id: str | None = None
    positive: Value | None = None
    sensitive_one: Value | None = None
    against: Value | None = None
    drop: Sequence[str] = ()
    drop_text: bool = False
    categorical: Sequence[str] = ()
    missing: str = "refuse"
    similarity: float | None = None
    neighbors: int | None = None
    standardize: bool = False
    directed: bool | None = None
    weight: str | None = None
    name: str = "graph"
    sensitive_kind: Mapping[str, str] = field(default_factory=dict)
    unknown: str = KEEP

    def __post_init__(self) -> None:
        if self.missing not in MISSING:
            raise _refused("missing", self.missing, ", ".join(MISSING))
        if self.unknown not in UNKNOWN:
            raise _refused("unknown", self.unknown, ", ".join(UNKNOWN))
        if self.task not in (None, *TASKS):
            raise _refused("task", self.task, ", ".join(TASKS))
        self._check_types()
        self._check_roles()
        if self.similarity is None and (self.neighbors is not None or self.standardize):
            raise ParameterError(
                "neighbors" if self.neighbors is not None else "standardize",
                "no similarity threshold",
                "together with similarity",
                "give similarity too, or leave it out",
            )
        _ = self.rule
        linked = "weight" if self.weight is not None else "directed" if self.directed else None
        if self.similarity is not None and linked is not None:
            raise ParameterError(
                linked,
                "a similarity, whose edges have neither directions nor weights",
                "together with edges of your own",
                "leave it out",
            )

    @property
    def rule(self) -> SimilarityRule | None:
        """The rule that joins similar rows, if there is one."""
        if self.similarity is None:
            return None
        return SimilarityRule(self.similarity, self.neighbors)

    def id_column(self, names: Iterable[str], notes: list[str] | None = None) -> str | None:
        """The column that holds the ids, of a table with columns `names`; noted if not given."""
        if self.id is not None:
            return self.id
        taken = {self.sensitive, self.label, *self.drop}
        found = (name for name in names if name.lower() in ID_NAMES and name not in taken)
        column = next(found, None)
        if column is not None and notes is not None:
            notes.append(f"column {column!r} holds the ids")
        return column

    def check_table(self, names: Sequence[str], rows: int) -> None:
        """Refuse a table without rows, with repeated names, or without a named column."""
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            got, next_step = f"{repeated[0]!r} more than once", "rename or remove one of them"
            raise GraphError("columns of the node table", got, "distinct names", next_step)
        for option in ("sensitive", "label", "id", "drop", "categorical"):
            given = getattr(self, option)
            for name in [given] if isinstance(given, str) else given or ():
                if name not in names:
                    raise unknown_column(names, name, option)
        if not rows:
            raise GraphError("node table", "no rows", "one row a person", "check the input")

    def check_edges(self, *, given: bool) -> None:
        """Edges come from a list or from similarity, not from both."""
        if given and self.similarity is not None:
            got, next_step = "both edges and a similarity", "leave out --similarity, or the edges"
        elif not given and self.similarity is None:
            got = "neither edges nor a similarity"
            next_step = "give a list with --edges, or join people with similar rows: "
            next_step += "--similarity 0.7"
        else:
            return
        raise ParameterError("edges of the graph", got, "one of them", next_step)

    def _check_types(self) -> None:
        for option in ("drop", "categorical"):
            value = getattr(self, option)
            sequence = isinstance(value, Iterable) and not isinstance(value, str)
            if not sequence or not all(isinstance(name, str) for name in value):
                raise _refused(option, value, "a list of column names as text")
        kinds = self.sensitive_kind
        if not isinstance(kinds, Mapping) or not set(kinds.values()) <= set(SENSITIVE_KINDS):
            allowed = f"a mapping from columns to {', '.join(SENSITIVE_KINDS)}"
            raise _refused("sensitive_kind", kinds, allowed)
        if self.against is not None and CONTINUOUS in kinds.values():
            got, allowed = "a number beside --sensitive-against", "with groups"
            raise ParameterError("--sensitive-kind", got, allowed, "leave one of the two out")
        if self.directed not in (None, True, False):
            raise _refused("directed", self.directed, "True, False or None")
        for option in ("sensitive", "label", "id", "weight", "name"):
            value = getattr(self, option)
            optional = option in ("label", "id", "weight")
            if not (isinstance(value, str) or (optional and value is None)):
                raise _refused(option, value, "the name of a column, as text")
        for option, kind in (("similarity", Real), ("neighbors", Integral)):
            value = getattr(self, option)
            if isinstance(value, bool) or not (value is None or isinstance(value, kind)):
                raise _refused(option, value, "a number, or None")

    def _check_roles(self) -> None:
        roles: dict[str, str] = {}
        given = [("sensitive", self.sensitive), ("label", self.label), ("id", self.id)]
        for role, column in [*given, *(("drop", column) for column in self.drop)]:
            if column is not None and roles.setdefault(column, role) != role:
                got = f"two roles, {roles[column]} and {role}"
                next_step = "correct one of the two"
                raise ParameterError(f"column {column!r}", got, "one role a column", next_step)


def _refused(option: str, value: object, allowed: str) -> ParameterError:
    return ParameterError(option, repr(value), allowed, f"change {option}")
