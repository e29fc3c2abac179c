"""An EXAMPLE of an audit, made up to look at the page with. None of its numbers was measured."""

from __future__ import annotations

from typing import Any

from tests.report.example import example_run

_MODELS = (
    ("own", "shift and rule", "Features shift by the difference of means; links follow.", 0.121),
    ("quantile", "quantile map", "Features keep their rank within the group.", 0.104),
    ("features only", "features only", "Features move; links stay as they are.", 0.098),
    ("structure only", "structure only", "Links move; features stay as they are.", 0.021),
    ("attribute only", "attribute only", "Nothing moves but the sensitive column.", 0.0),
)
_DIFFERENCES = (
    ("accuracy", "Accuracy", 0.718, 0.701, 0.017, [-0.008, 0.042], None),
    ("f1", "F1", 0.704, 0.688, 0.016, [-0.012, 0.044], None),
    ("auroc", "AUROC", 0.781, 0.762, 0.019, [0.004, 0.034], "first"),
    ("delta_eo", "ΔEO", 0.041, 0.063, -0.022, [-0.061, 0.017], None),
    ("delta_dp", "ΔDP", 0.068, 0.052, 0.016, [0.002, 0.031], "second"),
    ("delta_cf", "δCF (strict)", 0.006, 0.121, -0.115, [-0.147, -0.083], "first"),
    ("r2", "R²", 0.003, None, None, [None, None], None),
)


def example_audit() -> dict[str, Any]:
    """An audit with every part there is."""
    run = example_run()
    details = run["details"]
    return {
        "format": 1,
        "kind": "audit",
        "model": {
            "name": "loans-gnn-v3",
            "kind": "PyTorch module",
            "threshold": 0.5,
            "sight": {"sens": False, "graph": True, "repeats": True},
        },
        "metrics": run["metrics"],
        "intervals": run["intervals"],
        "config": {
            "dataset": "synthetic",
            "people": 500,
            "draws": 5,
            "seed": 0,
            "level": 0.95,
            "self_people": 500,
            "causal_model": "similarity",
        },
        "provenance": run["provenance"],
        "details": {
            "flips": [_ways(row) for row in details["flips"]],
            "groups": [_counted(row) for row in details["groups"]],
            "graph": details["graph"],
            "names": {"groups": ["women", "men"], "answers": ["refused", "granted"]},
            "notes": [
                "Its one column of outputs goes beyond 0 to 1 and is read as logits.",
                "Example data: every number on this page is made up.",
            ],
            "diagnostics": _diagnostics(),
        },
        "causal_models": {
            "rows": [_causal_model(*model) for model in _MODELS]
            + [
                {
                    "model": "cosine edges",
                    "label": "cosine edges",
                    "meaning": "Links follow the cosine of the features.",
                    "rate": None,
                    "interval": None,
                    "score_size": None,
                    "difference": None,
                    "difference_interval": None,
                    "error": "the AUC on held-out pairs is 0.58, below 0.7",
                }
            ],
            "depends": True,
            "verdict": "This verdict depends on the causal model: δCF is 0.1210 under the causal "
            "model of this audit, and from 0.0000 (attribute only) to 0.1040 (quantile) under the "
            "others.",
        },
        "affected": [_person(place) for place in range(6)],
        "comparison": {
            "first": "loans-gnn-v3",
            "second": "loans-gnn-v2",
            "people": 500,
            "rows": [
                dict(
                    zip(
                        ("metric", "label", "first", "second", "difference", "interval", "better"),
                        row,
                        strict=True,
                    )
                )
                for row in _DIFFERENCES
            ],
            "notes": ["R² of the second model is undefined: it gives everybody the same answer."],
        },
    }


def _ways(row: dict[str, Any]) -> dict[str, Any]:
    rate = row["rate"]
    rising = {"rising": 0.31 + rate, "rise": 0.023, "falling": 0.27, "fall": 0.018}
    return row | {"score_shift": rate * 0.4} | rising


def _counted(row: dict[str, Any]) -> dict[str, Any]:
    rates = ("selection_rate", "true_positive_rate", "accuracy")
    intervals = {f"{key}_interval": [row[key] - 0.06, row[key] + 0.055] for key in rates}
    counts = {"labelled": row["count"] - 3, "positives": row["count"] // 2, "selected": 96}
    return row | counts | {"delta_cf": 0.0065, "delta_cf_interval": [0.001, 0.019]} | intervals


def _causal_model(model: str, label: str, meaning: str, rate: float) -> dict[str, Any]:
    difference = None if model == "own" else rate - 0.121
    return {
        "model": model,
        "label": label,
        "meaning": meaning,
        "rate": rate,
        "interval": [max(0.0, rate - 0.027), rate + 0.031 if rate else 0.007],
        "score_size": rate * 0.6,
        "difference": difference,
        "difference_interval": None
        if difference is None
        else [difference - 0.02, difference + 0.018],
        "error": None,
    }


def _person(place: int) -> dict[str, Any]:
    score = 0.52 - 0.031 * place
    return {
        "node_id": 1840 + 37 * place,
        "sens": place % 2,
        "y": (1, 0, -1)[place % 3],
        "score": score,
        "label": int(score > 0.5),
        "flip_share": 1.0 - 0.12 * place,
        "score_change": 0.11 - 0.04 * place,
        "interventions": {
            "rate 0": {"score": score + 0.12, "flip": True},
            "rate 0.5": {"score": score + 0.04, "flip": 0.6},
            "rate 1": {"score": score - 0.01, "flip": False},
            "self": {"score": None, "flip": None},
        },
        "neighbors": [
            {"node_id": 12 + place, "sens": 1, "change": 0.041, "flips": True},
            {"node_id": 977 - place, "sens": 0, "change": -0.012, "flips": False},
        ]
        if place < 4
        else [],
    }


def _shape(edges: int, homophily: float) -> dict[str, Any]:
    return {
        "edges": edges,
        "degree_mean": 2 * edges / 2000,
        "degree_quantiles": [0.0, 2.0, 4.0, 6.0, 11.0, 31.0],
        "isolated": 112,
        "label_homophily": 0.552,
        "sens_homophily": homophily,
    }


def _diagnostics() -> dict[str, Any]:
    effects = (
        ("all 0", 0.598, 1.31, 5210, 610),
        ("all 1", 0.402, 1.28, 4810, 544),
        ("half", 0.511, 1.3, 1204, 1411),
    )
    return {
        "model": "fitted",
        "exact": False,
        "effects": [
            {
                "intervention": name,
                "people_set": people,
                "people_moved": people,
                "feature_change": change,
                "edges_added": added,
                "edges_removed": removed,
                "labels_changed": 0,
                "before": _shape(4120, 0.828),
                "after": _shape(4120 + added - removed, 1.0 if name != "half" else 0.741),
            }
            for name, people, change, added, removed in effects
        ],
        "quality": {
            "edges": "likeness",
            "gate_open": True,
            "auc": 0.874,
            "auc_without_degrees": 0.791,
            "held_out_edges": {"expected": 4098.2, "actual": 4120.0},
            "bins": [{"expected": 812.0, "actual": 801.0}, {"expected": 820.5, "actual": 833.0}],
            "misplaced": 0.021,
            "parameters": {
                "intercept": {"value": -9.12, "low": -9.4, "high": -8.83},
                "likeness": {"value": 11.2, "low": 10.7, "high": 11.8},
            },
            "new_edges_missed": {"all 0": {"expected": 61.0, "standard_error": 9.0}},
        },
        "notes": [
            "Edges follow a fitted model (likeness): on held-out pairs its AUC is 0.87, 0.79 by "
            "likeness and groups alone, and it expects 4098 edges where there are 4120."
        ],
    }
