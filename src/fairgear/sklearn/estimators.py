"""Estimators: any method of fairgear, fitted to and asked about rows of a table of people."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)
from torch import Tensor

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, TableColumns
from fairgear.graph.targets import strata
from fairgear.methods import METHODS, Method
from fairgear.progress import quiet
from fairgear.settings import check_seed
from fairgear.sklearn.people import columns_of, graph_of, identified, joined

_REGRESSION = "regression"


class _NodeEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What both estimators are; see `NodeClassifier`."""

    method_: Method
    graph_: SensitiveGraph
    people_: pd.DataFrame

    def __init__(
        self,
        method: str = "gear",
        *,
        sensitive: str = "sens",
        edges: pd.DataFrame | None = None,
        similarity: float | None = None,
        people: pd.DataFrame | None = None,
        columns: Mapping[str, Any] | None = None,
        validation: float = 0.25,
        seed: int = 0,
        device: str = "auto",
        verbose: bool = False,
        **settings: Any,
    ) -> None:
        self.method = method
        self.sensitive = sensitive
        self.edges = edges
        self.similarity = similarity
        self.people = people
        self.columns = columns
        self.validation = validation
        self.seed = seed
        self.device = device
        self.verbose = verbose
        for name, value in settings.items():
            self._check_setting(name)
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor, with the settings that were given."""
        own: dict[str, Any] = super().get_params(deep)
        return own | self._settings()

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor, or settings of the method."""
        own = {name: value for name, value in params.items() if name in self._get_param_names()}
        super().set_params(**own)
        for name in params.keys() - own.keys():
            self._check_setting(name)
            setattr(self, name, params[name])
        return self

    def to_graph(self, X: pd.DataFrame, y: ArrayLike | None = None) -> SensitiveGraph:
        """The graph of the fit and the people of X, who are its test people, with labels y.

        It is what `fairgear.audit(model.method_, graph)` needs.
        """
        check_is_fitted(self)
        graph, rows = self._asked(X)
        # Those of the fit come first, in their order.
        places = torch.arange(len(self.people_))
        labels = torch.full(graph.y.shape, self._unknown, dtype=self.graph_.y.dtype)
        labels[places] = self.graph_.y
        if y is not None:
            labels[rows] = self._coded(y)
        test = _mask(len(labels), rows)
        masks = {}
        for name in ("train_mask", "val_mask"):
            masks[name] = torch.zeros_like(test)
            masks[name][places] = self.graph_[name]
            masks[name] &= ~test
        return graph.replace(y=labels, test_mask=test, **masks, **self._words())

    def _settings(self) -> dict[str, Any]:
        """The settings that were given: what is neither of the constructor nor of the fit."""
        own = self._get_param_names()
        names = [name for name in vars(self) if name not in own and "_" not in (name[0], name[-1])]
        return {name: getattr(self, name) for name in names}

    def _check_setting(self, name: str) -> None:
        known = METHODS[self.method].config_type().to_dict()
        if name not in known:
            raise ParameterError(
                f"parameter of {type(self).__name__}(method={self.method!r})",
                repr(name),
                ", ".join([*self._get_param_names(), *known]),
                f"see fairgear methods show {self.method}",
            )

    def _fit(self, X: Any, labels: Tensor) -> None:
        """Set `people_`, `graph_` and `method_`."""
        options = self._options()
        with self._said():
            table = self._table(X, options, reset=True)
            known = None if self.people is None else identified(self.people, options, "people")
            if known is not None and not self._named:
                got, step = "an array X, whose rows have no ids", "pass a DataFrame"
                raise ParameterError("people", got, "X as a DataFrame", step)
            everybody = joined(known, table)
            graph = graph_of(everybody, self.edges, options)
            rows = torch.from_numpy(everybody.index.get_indexer(table.index))
            y = torch.full((len(everybody),), self._unknown, dtype=labels.dtype)
            y[rows] = labels
            train, val = self._split(rows, labels)
            graph = graph.replace(
                y=y, train_mask=_mask(len(y), train), val_mask=_mask(len(y), val), **self._words()
            )
            method = METHODS[self.method](seed=self.seed, device=self.device, **self._settings())
            self.people_, self.graph_ = everybody, graph
            self.method_ = method.fit(graph)

    def _split(self, rows: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Training and validation people, with a share of each class or tenth of the numbers."""
        if not 0 < self.validation < 1:
            raise ParameterError("validation", self.validation, "between 0 and 1", "use 0.25")
        rng = np.random.default_rng(check_seed("seed", self.seed))
        parts = strata(labels.numpy())
        held = np.zeros(len(parts), dtype=np.bool_)
        for part in np.unique(parts):
            drawn = rng.permutation(np.flatnonzero(parts == part))
            held[drawn[: max(1, round(self.validation * len(drawn)))]] = True
        chosen = torch.from_numpy(held)
        return rows[~chosen], rows[chosen]

    def _asked(self, X: Any) -> tuple[SensitiveGraph, Tensor]:
        """The graph of everybody in the fit and in X, and the rows of X."""
        options = self._options()
        with self._said():
            table = self._table(X, options, reset=False)
            if not self._named:
                # Rows of an array have no ids: they are other people.
                table.index = pd.RangeIndex(len(table)) + len(self.people_)
            everybody = joined(self.people_, table)
            rows = torch.from_numpy(everybody.index.get_indexer(table.index))
            if everybody.equals(self.people_):
                return self.graph_, rows
            encoding = self.graph_["encoding"]
            return graph_of(everybody, self.edges, options, encoding), rows

    def _table(self, X: Any, options: TableColumns, *, reset: bool) -> pd.DataFrame:
        """X as a table with ids; columns and their number as in the fit."""
        # As in scikit-learn, a table without names of columns counts as an array.
        named = isinstance(X, pd.DataFrame) and all(isinstance(one, str) for one in X.columns)
        found = validate_data(
            self, X, reset=reset, skip_check_array=named, **({} if named else {"dtype": "numeric"})
        )
        if reset:
            self._named = named
        elif named != self._named:
            kinds = {True: "a DataFrame with names of columns", False: "an array"}
            got, allowed = kinds[named], f"{kinds[self._named]}, as in fit"
            raise GraphError("X", got, allowed, "pass the same kind")
        if named:
            return identified(found, options, "X")
        if self.edges is not None:
            got, step = "an array, whose rows have no ids", "pass a DataFrame"
            raise GraphError("X", got, "a DataFrame whose index holds the ids of the edges", step)
        names = [f"x{place}" for place in range(found.shape[1])]
        return pd.DataFrame(found, columns=names)

    def _options(self) -> TableColumns:
        return columns_of(self.sensitive, self.similarity, self.columns)

    def _said(self) -> Any:
        return nullcontext() if self.verbose else quiet()

    @property
    def _unknown(self) -> float:
        raise NotImplementedError

    def _coded(self, y: ArrayLike) -> Tensor:
        raise NotImplementedError

    def _words(self) -> dict[str, Any]:
        return {}


class NodeClassifier(ClassifierMixin, _NodeEstimator):  # type: ignore[misc]
    """A method that predicts classes, on a table with one row a person.

    Rows are people, and the index of X holds their ids (or a column called id, or
    `columns={"id": …}`). `fit` sees the people of X with their labels. Without `people` it sees
    nobody else: the graph that it trains on joins people of X alone, and those of another fold
    join it when they are predicted. With `people`, everybody's rows and edges are in the graph from
    the start; labels are only those of y.

    Args:
        method: a name from `fairgear methods list`.
        sensitive: the column of X with the sensitive attribute; of an array x0, x1, ….
        edges: two columns of ids, of all folds; those at people who are not there are left out.
        similarity: joins similar rows, instead of edges; see `fairgear.graph.SimilarityRule`.
        people: everybody's rows, with the columns of X and no label.
        columns: other fields of `fairgear.graph.TableColumns`, such as {"missing": "impute"}.
        validation: the share of the people in `fit` that stops the training.
        seed: of the validation people, the initialisation and the training.
        device: auto, cpu or cuda.
        verbose: whether to show progress, and how columns were read.
        settings: those of the method, such as `fairness_weight=3`; a grid may name them too.

    Attributes:
        classes_: the classes, sorted.
        method_: the fitted method of fairgear.
        graph_: the graph that it was fitted to.
        people_: the rows of that graph, by id.

    Example:
        >>> import pandas as pd
        >>> from fairgear.sklearn import NodeClassifier
        >>> people = pd.DataFrame({"sex": [0, 1] * 20, "points": range(40)})
        >>> model = NodeClassifier("logistic", sensitive="sex", similarity=0.9)
        >>> model.fit(people, people["points"] > 20).predict(people[:3])
        array([False, False, False])
    """

    classes_: NDArray[Any]

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Learn from the people of X with their classes y."""
        labels = _checked(self, X, y)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            got, step = f"{len(self.classes_)} class", "pass people of two classes"
            raise GraphError("y", got, "two classes or more", step)
        self._fit(X, torch.from_numpy(codes.astype(np.int64)))
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Probabilities (m, classes)."""
        check_is_fitted(self)
        graph, rows = self._asked(X)
        with self._said():
            return self.method_.predict_proba(graph, nodes=rows)

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Classes (m,), at the threshold of the method."""
        check_is_fitted(self)
        graph, rows = self._asked(X)
        with self._said():
            found: NDArray[Any] = self.classes_[self.method_.predict(graph, nodes=rows)]
        return found

    @property
    def _unknown(self) -> float:
        return -1

    def _coded(self, y: ArrayLike) -> Tensor:
        labels = column_or_1d(y)
        codes = pd.Index(self.classes_).get_indexer(labels)
        if (codes < 0).any():
            got = repr(labels[codes < 0][0])
            allowed = ", ".join(map(repr, self.classes_))
            raise GraphError("class in y", got, allowed, "pass classes of the fit")
        return torch.from_numpy(codes.astype(np.int64))

    def _words(self) -> dict[str, Any]:
        return {"label_names": tuple(str(one) for one in self.classes_)}


class NodeRegressor(RegressorMixin, _NodeEstimator):  # type: ignore[misc]
    """A method that predicts numbers, on a table with one row a person; see `NodeClassifier`.

    Example:
        >>> import pandas as pd
        >>> from fairgear.sklearn import NodeRegressor
        >>> people = pd.DataFrame({"sex": [0, 1] * 20, "points": range(40)})
        >>> model = NodeRegressor("logistic", sensitive="sex", similarity=0.9)
        >>> price = 2.5 * people["points"]
        >>> round(model.fit(people, price).score(people, price), 1)
        1.0
    """

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Learn from the people of X with their numbers y."""
        self._fit(X, self._coded(_checked(self, X, y)))
        return self

    def predict(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Numbers (m,)."""
        check_is_fitted(self)
        graph, rows = self._asked(X)
        with self._said():
            return np.asarray(self.method_.predict(graph, nodes=rows), dtype=np.float64)

    @property
    def _unknown(self) -> float:
        return float("nan")

    def _coded(self, y: ArrayLike) -> Tensor:
        numbers = np.asarray(column_or_1d(y), dtype=np.float64)
        if not np.isfinite(numbers).all():
            got, step = "NaN or infinity", "leave those people out"
            raise GraphError("y", got, "finite numbers", step)
        return torch.from_numpy(np.array(numbers))


def _checked(estimator: BaseEstimator, X: Any, y: Any) -> NDArray[Any]:
    """The labels, one a row of X."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    check_consistent_length(X, y)
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    return labels


def _mask(count: int, rows: Tensor) -> Tensor:
    found = torch.zeros(count, dtype=torch.bool)
    found[rows] = True
    return found
