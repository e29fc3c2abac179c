"""SensitiveGraph: a PyG `Data` whose sensitive attribute, edges and masks have been checked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import validation
from fairgear.graph.attributes import Attribute, Attributes, Bands
from fairgear.graph.canonical import Canonical
from fairgear.graph.edges import closed_neighborhood_mean, sort_edges, sorting_order
from fairgear.graph.targets import Target, check_labels
from fairgear.streams import raw_bytes

if TYPE_CHECKING:
    from fairgear.graph.stored.folder import StoredArrays

MASKS = ("train_mask", "val_mask", "test_mask")
# PyG's storage holds no None: these read as None where they are missing.
OPTIONAL = (
    "attributes",
    "sens_known",
    "sens_told",
    "sens_column",
    "latent",
    "raw",
    "mechanism",
    "stored",
    "edge_weight",
)
NODE_FIELDS = ("x", "y", "sens", "sens_known", "sens_told", "node_id", "latent", "raw", *MASKS)
FIELDS = (*NODE_FIELDS, "edge_index", "sens_kind", "name", "feature_names", *OPTIONAL)


class SensitiveGraph(Data):  # type: ignore[misc]  # PyG ships no types
    """A graph of people with features, labels and a sensitive attribute.

    Args:
        x: features (n, d), finite floats.
        edge_index: (2, E), no self-loops; stored sorted. Both directions of each edge, or each arc
            once, from row 0 to row 1, if `directed`.
        y: labels: classes from 0 as int64, −1 where unknown, or numbers as float64, NaN where
            unknown; all unknown if not given. Fields `label_name` and `label_names` may name
            the label and its classes, and `sens_name` and `sens_names` two groups.
        sens: everybody's group by the sensitive attributes, int64: 0 and 1 for the binary kind,
            0 to m − 1 for the categorical one; the number itself, float64, for the continuous one.
        sens_known: whose attribute is known, True or False; None where everybody's is. For the
            others `sens` holds a guess, such as that of `fairgear.graph.complete`.
        sens_told: where several attributes are crossed, the code of each that a person told, −1
            where unknown, (n, attributes); None where nobody told a part of them.
        sens_column: the column of `x` that holds `sens`, or None.
        sens_kind: "binary", "categorical" or "continuous"; that of `attributes` where they are
            given.
        attributes: names and values of the sensitive attributes, and the groups they make. Values
            have their codes for names if not given.
        node_id: stable ids, kept when nodes are reordered; row numbers if not given.
        train_mask, val_mask, test_mask: disjoint; empty if not given.
        name: for people; nothing is looked up by it.
        feature_names: one a column of `x`.
        latent: exogenous variables of the nodes (n, d_z), where they are known.
        raw: the table that the graph was built from (n, d), float64 and unscaled, where it was;
            it stays the factual one in every counterfactual world.
        mechanism: the structural equations that made the graph, where they are known;
            `fairgear.causal.for_graph` turns it into a causal model.
        stored: the files that some tensors are memory maps of; they were checked and hashed when
            they were written, and are not again.
        directed: whether edges have a direction.
        edge_weight: (E,), positive finite floats, one a column of `edge_index` and sorted with it;
            equal in both directions of an undirected graph. None if all edges count alike.

    Example:
        >>> import torch
        >>> from fairgear.graph import SensitiveGraph, undirected_edges
        >>> graph = SensitiveGraph(
        ...     x=torch.tensor([[0.1], [0.4], [0.9]]),
        ...     edge_index=undirected_edges(torch.tensor([[0, 1], [1, 2]]), num_nodes=3),
        ...     y=torch.tensor([0, 1, -1]),
        ...     sens=torch.tensor([0, 1, 1]),
        ...     feature_names=["income"],
        ... )
        >>> graph.num_nodes, graph.num_undirected_edges
        (3, 2)
        >>> graph.replace(sens=torch.tensor([1, 1, 1])).sens.tolist()
        [1, 1, 1]
    """

    if TYPE_CHECKING:
        x: Tensor
        edge_index: Tensor
        y: Tensor
        sens: Tensor
        sens_known: Tensor | None
        sens_told: Tensor | None
        sens_column: int | None
        sens_kind: str
        attributes: Attributes | None
        node_id: Tensor
        train_mask: Tensor
        val_mask: Tensor
        test_mask: Tensor
        name: str
        feature_names: list[str]
        latent: Tensor | None
        raw: Tensor | None
        mechanism: Any
        stored: StoredArrays | None
        directed: bool
        edge_weight: Tensor | None

    def __init__(
        self,
        x: Tensor | None = None,
        edge_index: Tensor | None = None,
        y: Tensor | None = None,
        sens: Tensor | None = None,
        *,
        sens_known: Tensor | None = None,
        sens_told: Tensor | None = None,
        sens_column: int | None = None,
        sens_kind: str = "binary",
        attributes: Attributes | None = None,
        node_id: Tensor | None = None,
        train_mask: Tensor | None = None,
        val_mask: Tensor | None = None,
        test_mask: Tensor | None = None,
        name: str = "graph",
        feature_names: Sequence[str] | None = None,
        latent: Tensor | None = None,
        raw: Tensor | None = None,
        mechanism: Any = None,
        stored: StoredArrays | None = None,
        directed: bool = False,
        edge_weight: Tensor | None = None,
        **extra: Any,
    ) -> None:
        if x is None and edge_index is None and sens is None:
            # PyG creates empty graphs when it copies and batches.
            super().__init__(**extra)
            return
        if x is None or edge_index is None or sens is None:
            given = {"x": x, "edge_index": edge_index, "sens": sens}
            got = "no " + " and no ".join(key for key, value in given.items() if value is None)
            raise GraphError("a SensitiveGraph", got, "x, edge_index and sens", "pass all three")
        # Stored arrays were checked before, and may be larger than memory.
        x_known, edges_known = (
            stored is not None and stored.holds(key, value)
            for key, value in (("x", x), ("edge_index", edge_index))
        )
        if not x_known:
            validation.check_features(x)
        n, device = x.shape[0], x.device
        # Stored edges are valid for the number of nodes they were checked with.
        same = stored is not None and edges_known and directed == stored.directed
        if stored is None or not same or n != len(stored.csr[0]) - 1:
            validation.check_directed(directed)
            validation.check_edges(edge_index, n, directed=directed)
            if edge_weight is not None:
                validation.check_weights(edge_weight, edge_index, n, directed=directed)
                order = sorting_order(edge_index, n)
                edge_weight = edge_weight if order is None else edge_weight[order]
            edge_index = sort_edges(edge_index, n)
        elif edge_weight is not None and not stored.holds("edge_weight", edge_weight):
            validation.check_weights(edge_weight, edge_index, n, directed=directed)
        attributes = validation.checked_attributes(attributes, sens_kind, sens)
        groups = 2 if attributes is None else len(attributes)
        validation.check_known(sens_known, n)
        validation.check_told(sens_told, sens_known, attributes, n)
        same = stored is not None and x_known and stored.holds("sens", sens)
        if stored is None or not same or sens_column != stored.sens_column:
            validation.check_sensitive(sens, x, sens_column, groups)
        y = torch.full((n,), -1, device=device) if y is None else y
        check_labels(y, n, extra.get("label_names"))
        node_id = torch.arange(n, device=device) if node_id is None else node_id
        validation.check_node_ids(node_id, n)
        empty = torch.zeros(n, dtype=torch.bool, device=device)
        masks = {
            key: empty.clone() if mask is None else mask
            for key, mask in zip(MASKS, (train_mask, val_mask, test_mask), strict=True)
        }
        validation.check_masks(masks, n)
        names = [f"x{i}" for i in range(x.shape[1])] if feature_names is None else feature_names
        validation.check_feature_names(names, x.shape[1])
        validation.check_extra(extra)
        super().__init__(x=x, edge_index=edge_index, y=y, **extra)
        self.sens = sens
        self.sens_known = sens_known
        self.sens_told = sens_told
        self.sens_column = sens_column
        self.sens_kind = {0: "continuous", 2: "binary"}.get(groups, "categorical")
        self.attributes = attributes
        self.node_id = node_id
        for key, mask in masks.items():
            setattr(self, key, mask)
        self.name = name
        self.feature_names = list(names)
        self.latent = latent
        self.raw = raw
        self.mechanism = mechanism
        self.stored = stored
        self.directed = directed
        self.edge_weight = edge_weight

    def __getattr__(self, key: str) -> Any:
        if key in OPTIONAL and "_store" in self.__dict__ and key not in self._store:
            return None
        # Graphs that were pickled before directions were known have none.
        if key == "directed" and "_store" in self.__dict__ and key not in self._store:
            return False
        return super().__getattr__(key)

    def __repr__(self) -> str:
        if "x" not in self:
            return "SensitiveGraph()"
        people, features = self.x.shape
        kind = f"{'weighted ' if self.edge_weight is not None else ''}"
        kind += "arcs" if self.directed else "edges"
        edges = f"{self.num_undirected_edges:,} {kind}"
        return f"SensitiveGraph({self.name!r}: {people:,} people, {edges}, {features} features)"

    def _repr_html_(self) -> str:
        from fairgear.graph.summary import graph_html

        return graph_html(self)

    @property
    def num_undirected_edges(self) -> int:
        """Edges counted once; each arc of a directed graph is one."""
        return int(self.edge_index.shape[1]) // (1 if self.directed else 2)

    @property
    def plain(self) -> bool:
        """Whether edges have neither directions nor weights."""
        return not self.directed and self.edge_weight is None

    @property
    def continuous(self) -> bool:
        """Whether the sensitive attribute is a number, such as an age."""
        return self.attributes is not None and self.attributes.continuous

    @property
    def two_groups(self) -> bool:
        """Whether people are of two groups, neither of more nor of a number."""
        return not self.continuous and self.num_groups == 2

    @property
    def num_groups(self) -> int:
        """Groups by the sensitive attributes; `sens` numbers them from 0. A number has none."""
        if self.attributes is not None and self.attributes.continuous:
            name = self.attributes.name
            step = f'compare two groups, such as --sensitive "{name}<40"'
            raise GraphError(f"sensitive attribute {name!r}", "a number", "groups", step)
        return 2 if self.attributes is None else len(self.attributes)

    @property
    def sensitive_attributes(self) -> tuple[Attribute, ...]:
        """The sensitive attributes in the words of the data, as far as it has any."""
        if self.attributes is not None:
            return self.attributes.each
        column = self.sens_column
        known = self.get("sens_name") or ("" if column is None else self.feature_names[column])
        values = tuple(map(str, self.get("sens_names") or ("0", "1")))
        return (Attribute(str(known) or "sens", values),)

    @property
    def target(self) -> Target:
        """What the labels are."""
        return Target.of(self.y, self.get("label_names"))

    @property
    def canonical(self) -> Canonical:
        """The order by node id: rows, numbers and neighbour lists, computed once."""
        held: Canonical | None = self.__dict__.get("_canonical")
        links = (self.edge_weight, self.directed)
        if held is None or not held.is_of(self.node_id, self.edge_index, *links):
            stored = self.stored
            kept = stored is not None and stored.holds("edge_index", self.edge_index)
            csr = stored.csr if kept and stored else None
            held = Canonical(self.node_id, self.edge_index, csr, *links)
            self.__dict__["_canonical"] = held
        return held

    def replace(self, **changes: Any) -> SensitiveGraph:
        """A new, validated graph with some fields changed; this one stays as it is.

        Other edges of a graph with weights need weights of their own.
        """
        if self.edge_weight is not None and "edge_weight" not in changes:
            _check_same(self.edge_index, changes.get("edge_index", self.edge_index))
        fields = {key: self.get(key) for key in {*FIELDS, *self.keys()}}
        fields["directed"] = self.directed
        fields.update(changes)
        made = SensitiveGraph(**fields)
        # Worth keeping where neither edges nor ids are among the changes.
        made.__dict__["_canonical"] = self.__dict__.get("_canonical")
        return made

    def permute(self, order: Tensor) -> SensitiveGraph:
        """The same graph with row `order[i]` moved to row i; `node_id` goes along."""
        n = int(self.x.shape[0])
        if not torch.equal(order.sort().values, torch.arange(n, device=order.device)):
            got, allowed = (
                f"{len(order)} values that are no permutation",
                f"each of 0 to {n - 1} once",
            )
            raise GraphError("order", got, allowed, "use torch.randperm")
        position = torch.empty_like(order)
        position[order] = torch.arange(n, device=order.device)
        moved: dict[str, Any] = {key: self[key][order] for key in NODE_FIELDS if key in self}
        edges = {"edge_index": position[self.edge_index], "edge_weight": self.edge_weight}
        return self.replace(**edges, **moved)

    def fingerprint(self, *fields: str) -> str:
        """SHA-256 of the content of `fields` (default: all that a model could see).

        Directions and weights, if there are any, count with `edge_index`.
        """
        digest = hashlib.sha256()
        fields = fields or ("x", "edge_index", "y", "sens", "node_id", *MASKS)
        if "edge_index" in fields and self.directed:
            digest.update(b"directed;")
        if "edge_index" in fields and self.edge_weight is not None:
            fields = (*fields, "edge_weight")
        if "sens" in fields and self.sens_known is not None:
            fields = (*fields, "sens_known")
        for key in fields:
            value = self[key]
            content = self.stored.digest(key, value) if self.stored else None
            content = _digest(value) if content is None else content
            digest.update(f"{key}:{value.dtype}:{tuple(value.shape)}:{content};".encode())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_canonical"}


def groups_around(graph: SensitiveGraph) -> Tensor:
    """The mean of the groups' code over each person and their neighbours.

    (n,) the mean of s where there are two groups or s is a number; (n, groups − 1) the share of
    each group but the first where there are more.

    Example:
        >>> from fairgear.graph import groups_around
        >>> from fairgear.testing import toy_graph
        >>> groups_around(toy_graph()).shape
        torch.Size([160])
        >>> groups_around(toy_graph(sens="categorical")).shape
        torch.Size([160, 2])
    """
    if graph.continuous:
        return closed_neighborhood_mean(graph.sens, graph.edge_index, graph.edge_weight)
    groups = range(1, graph.num_groups)
    edges, weight = graph.edge_index, graph.edge_weight
    parts = [closed_neighborhood_mean(graph.sens == group, edges, weight) for group in groups]
    return parts[0] if len(parts) == 1 else torch.stack(parts, dim=1)


def groups_of(graph: SensitiveGraph, sens: Tensor | None = None) -> Tensor:
    """Everybody's group or, of a number, their range, one of the graph's five.

    `sens` are other values of the same attribute; the graph's own if not given.

    Example:
        >>> from fairgear.graph import groups_of
        >>> from fairgear.testing import toy_graph
        >>> groups_of(toy_graph(sens="continuous")).unique().tolist()
        [0, 1, 2, 3, 4]
    """
    sens = graph.sens if sens is None else sens
    if not graph.continuous:
        return sens
    codes = Bands.of(graph.sens.cpu().numpy()).codes(sens.cpu().numpy())
    return torch.from_numpy(codes).to(sens.device)


def rows_of(graph: SensitiveGraph, nodes: Tensor | None, *, name: str = "nodes") -> Tensor:
    """`nodes` as checked row numbers on the CPU; all rows if not given.

    Example:
        >>> import torch
        >>> from fairgear.graph import rows_of
        >>> from fairgear.testing import toy_graph
        >>> rows_of(toy_graph(), torch.tensor([3, 1])).tolist()
        [3, 1]
    """
    return checked_rows(nodes, len(graph.x), name)


def checked_rows(nodes: Tensor | None, n: int, name: str = "nodes") -> Tensor:
    """The same for a graph of `n` nodes."""
    if nodes is None:
        return torch.arange(n)
    nodes = nodes.cpu()
    if nodes.dtype == torch.bool and tuple(nodes.shape) == (n,):
        return nodes.nonzero()[:, 0]
    whole = nodes.dtype == torch.int64 and nodes.dim() == 1
    outside = nodes[(nodes < 0) | (nodes >= n)] if whole else nodes
    if not whole or len(outside):
        raise ParameterError(
            name,
            int(outside[0]) if whole else f"{nodes.dtype} of shape {tuple(nodes.shape)}",
            f"row numbers from 0 to {n - 1}, or a boolean mask of length {n}",
            "pass rows of the graph",
        )
    return nodes


def _check_same(before: Tensor, after: Tensor) -> None:
    """Refuse other edges: the weights are not theirs."""
    if after is not before and not torch.equal(after, before):
        allowed = "edge_index and edge_weight together"
        raise GraphError("edges of a graph with weights", "edge_index alone", allowed, "pass both")


def _digest(value: Tensor) -> str:
    """SHA-256 of the bytes of a tensor, read where they are."""
    return hashlib.sha256(raw_bytes(value.detach().cpu().numpy())).hexdigest()
