"""Scorers: how often answers flip, as `GridSearchCV` and `cross_validate` ask for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from fairgear.auditing import Worlds, audit
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.metrics import fewest_flips
from fairgear.progress import quiet
from fairgear.sklearn.estimators import NodeClassifier, NodeRegressor

# Graphs whose worlds are kept: the folds of a cross-validation.
_FOLDS = 5
_worlds: OrderedDict[str, Worlds] = OrderedDict()


def worst_flips_scorer(estimator: Any, X: pd.DataFrame, y: ArrayLike) -> float:
    """Minus the largest δCF of the people of X over the credible causal models.

    0 is best, and −0.2 says that a fifth of the answers change. The number is `delta_cf_max` of
    `fairgear.audit`, with one world for each random intervention. Read it beside the accuracy: a
    constant has no flips.

    Example:
        >>> import pandas as pd
        >>> from sklearn.model_selection import GridSearchCV
        >>> from fairgear.sklearn import FewestFlips, NodeClassifier, worst_flips_scorer
        >>> people = pd.DataFrame({"sex": [0, 1] * 40, "points": range(80)})
        >>> search = GridSearchCV(
        ...     NodeClassifier("logistic", sensitive="sex", similarity=0.9),
        ...     {"C": [0.01, 1.0]},
        ...     scoring={"auroc": "roc_auc", "flips": worst_flips_scorer},
        ...     refit=FewestFlips(max_loss=0.01),
        ...     cv=2,
        ... )
        >>> sorted(search.fit(people, people["points"] % 40 > 20).best_params_)
        ['C']
    """
    if isinstance(estimator, Pipeline):
        X, estimator = estimator[:-1].transform(X), estimator[-1]
    if not isinstance(estimator, NodeClassifier | NodeRegressor):
        got, allowed = f"a {type(estimator).__name__}", "a NodeClassifier or NodeRegressor"
        step = "call fairgear.audit for other models"
        raise ParameterError("estimator to score", got, allowed, step)
    with quiet():
        found = audit(
            estimator.method_,
            _worlds_of(estimator.to_graph(X, y)),
            self_people=0,
            affected_people=0,
            what_if_people=0,
            probes=False,
        )
    return -found.metrics["delta_cf_max"]


@dataclass(frozen=True)
class FewestFlips:
    """For `refit`: the fewest flips among candidates whose score is near the best.

    Args:
        max_loss: how much less than the best score is near.
        score: the name of the score in `scoring`.
        flips: the name of `worst_flips_scorer` there.

    Example:
        >>> from fairgear.sklearn import FewestFlips
        >>> choose = FewestFlips(max_loss=0.01)
        >>> choose({"mean_test_auroc": [0.90, 0.895], "mean_test_flips": [-0.2, -0.1]})
        1
    """

    max_loss: float = 0.01
    score: str = "auroc"
    flips: str = "flips"

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """The index of the best candidate."""
        for name in (self.score, self.flips):
            if f"mean_test_{name}" not in cv_results:
                step = 'use scoring={"auroc": "roc_auc", "flips": worst_flips_scorer}'
                raise ParameterError("scoring", f"no {name!r}", "both names of FewestFlips", step)
        flips = [-one for one in cv_results[f"mean_test_{self.flips}"]]
        return fewest_flips(cv_results[f"mean_test_{self.score}"], flips, max_loss=self.max_loss)


def _worlds_of(graph: SensitiveGraph) -> Worlds:
    """Those of a graph; candidates of a grid share the folds."""
    key = graph.fingerprint()
    if key in _worlds:
        _worlds.move_to_end(key)
        return _worlds[key]
    while len(_worlds) >= _FOLDS:
        _worlds.popitem(last=False)
    _worlds[key] = Worlds(graph, draws=1)
    return _worlds[key]
