"""An EXAMPLE of an audit, made up to look at the page with. None of its numbers was measured."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from fairgear.auditing import Audit
from tests.report.what_if_example import what_if_data

HOSTILE = "<script>alert(1)</script>\"'</style>{{ 7*7 }}"
_RATES = {
    "strict": (0.006, 0.009, 0.005, 0.004, 0.008, 0.005, 0.006, 0.007),
    "released": (0.002, 0.003, 0.002, 0.001, 0.002, 0.001, 0.0, 0.002),
    "placebo": (0.001,),
}
_INTERVENTIONS = (
    "average over rates",
    "rate 0",
    "rate 0.5",
    "rate 1",
    "between worlds",
    "self",
    "neighbours",
    "both",
)
_METRICS = {
    "accuracy": (0.718, 0.676, 0.757),
    "f1": (0.704, 0.655, 0.748),
    "auroc": (0.781, 0.739, 0.820),
    "delta_eo": (0.041, 0.004, 0.121),
    "delta_dp": (0.068, 0.011, 0.139),
    "delta_cf": (0.006, 0.002, 0.014),
    "delta_cf_min": (0.006, 0.001, 0.019),
    "delta_cf_max": (0.104, 0.071, 0.143),
    "delta_cf_any": (0.108, 0.076, 0.147),
    "delta_cf_all": (0.004, 0.000, 0.016),
    "delta_cf_released": (0.002, 0.000, 0.010),
    "delta_cf_self": (0.005, 0.001, 0.013),
    "delta_cf_neighbor": (0.0061, 0.002, 0.014),
    "delta_cf_both": (0.007, 0.003, 0.016),
    "r2": (0.003, 0.000, 0.021),
}
_MODELS = (
    ("own", "Features shift by the difference of means; links follow.", 0.121),
    ("quantile", "Features keep their rank within the group.", 0.104),
    ("own, links fixed", "Features move; links stay as they are.", 0.098),
    ("structure only", "Links move; features stay as they are.", 0.021),
    ("attribute only", "Nothing moves except the sensitive column.", 0.0),
)
_DIFFERENCES = (
    ("accuracy", 0.718, 0.701, 0.017, [-0.008, 0.042], None),
    ("f1", 0.704, 0.688, 0.016, [-0.012, 0.044], None),
    ("auroc", 0.781, 0.762, 0.019, [0.004, 0.034], "first"),
    ("delta_eo", 0.041, 0.063, -0.022, [-0.061, 0.017], None),
    ("delta_dp", 0.068, 0.052, 0.016, [0.002, 0.031], "second"),
    ("delta_cf", 0.006, 0.121, -0.115, [-0.147, -0.083], "first"),
    ("r2", 0.003, None, None, [None, None], None),
)
# Names that the program itself gives, and never the user.
_FIXED = {"protocol", "intervention", "metric", "better"}


def made(data: dict[str, Any]) -> Audit:
    """The audit of JSON data, without people."""
    return Audit.from_dict(data, pd.DataFrame())


def example(**changes: Any) -> Audit:
    """An audit with every part there is, except for `changes`."""
    return made({**example_data(), **changes})


def undefined(value: Any) -> Any:
    """The same shape with every number undefined that may be."""
    if isinstance(value, dict):
        return {k: v if k == "step" else undefined(v) for k, v in value.items()}
    if isinstance(value, list):
        return [undefined(inner) for inner in value]
    return None if isinstance(value, float) else value


def hostile(value: Any, text: str = HOSTILE) -> Any:
    """The same shape with every string hostile that may come from a user."""
    if isinstance(value, dict):
        return {k: v if k in _FIXED else hostile(v, text) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(inner, text) for inner in value]
    return text if isinstance(value, str) else value


def example_data() -> dict[str, Any]:
    """The same audit as JSON holds it."""
    return {
        "format": 4,
        "model": {"name": "loans-gnn-v3", "kind": "PyTorch module", "threshold": 0.5},
        "setup": {
            "dataset": "synthetic",
            "people": 500,
            "draws": 5,
            "seed": 0,
            "level": 0.95,
            "self_people": 500,
            "causal_model": "similarity",
            "worlds": "9f2c",
        },
        "metrics": {name: value for name, (value, _, _) in _METRICS.items()},
        "intervals": {name: [low, high] for name, (_, low, high) in _METRICS.items()},
        "flips": _flips(),
        "groups": [_group(0, 205, 0.468, 0.701, 0.722), _group(1, 295, 0.536, 0.742, 0.715)],
        "margins": [{**_group(-1, 12, 0.5, 0.72, 0.71), "impact_ratio": None}],
        "rate_tests": [
            {
                "attribute": "",
                "statistic": 2.31,
                "degrees": 1,
                "p_value": 0.1285,
                "least_expected": 61.2,
            }
        ],
        "probes": {"sens": False, "graph": True, "repeats": True},
        "causal_models": {
            "rows": [
                *(_causal_model(*model) for model in _MODELS),
                _causal_model(
                    "gaussian",
                    "Features are moved by Gaussian transport.",
                    None,
                    "nobody in group 0",
                ),
            ],
            "least": {"model": "own", "rate": 0.006, "interval": [0.001, 0.019]},
            "largest": {"model": "quantile", "rate": 0.104, "interval": [0.071, 0.143]},
            "under_any": 0.108,
            "under_any_interval": [0.076, 0.147],
            "under_all": 0.004,
            "under_all_interval": [0.0, 0.016],
            "credible": 2,
            "depends": True,
            "verdict": "The verdict depends on the causal model: δCF is 0.1210 under the causal "
            "model of this audit and from 0.0000 (attribute only) to 0.1040 (quantile) under "
            "others.",
        },
        "dose": {
            "points": [
                {"share": share, "rate": rate, "interval": [rate / 2, rate + 0.02]}
                for share, rate in ((0.0, 0.0), (0.5, 0.002), (1.0, 0.006))
            ]
        },
        "affected": [_person(place) for place in range(6)],
        "what_if": what_if_data(),
        "diagnostics": _diagnostics(),
        "graph": {
            "name": "synthetic",
            "nodes": 2000,
            "edges": 4120,
            "intra_group_edges": 3410,
            "inter_group_edges": 710,
            "features": 26,
            "average_degree": 5.12,
            "sensitive_rate": 0.598,
            "labelled": 2000,
            "positive_rate": 0.503,
            "isolated": 112,
            "train": 1000,
            "val": 500,
            "test": 500,
        },
        "names": {"groups": ["women", "men"], "classes": ["refused", "granted"]},
        "notes": [
            "Its one column of outputs goes beyond 0 to 1 and is read as logits.",
            "Example data: every number on this page is made up.",
        ],
        "comparison": {
            "first": "loans-gnn-v3",
            "second": "loans-gnn-v2",
            "people": 500,
            "rows": [
                dict(
                    zip(
                        ("metric", "first", "second", "difference", "interval", "better"),
                        row,
                        strict=True,
                    )
                )
                for row in _DIFFERENCES
            ],
            "notes": ["R² of the second model is undefined: it gives everybody the same answer."],
            "changes": _changes(),
        },
        "training": {
            "history": {"generator": _generator_history(), "network": _network_history()},
            "generator": _generator(),
        },
        "config": {
            "dataset": "synthetic",
            "split": "released",
            "seed": 0,
            "graph_seed": 0,
            "method": "gear",
            "device": "auto",
            "settings": {"encoder": "graphsage", "k": 20, "generator": {"latent": 16}},
        },
        "provenance": {
            "version": "0.1.0",
            "commit": "",
            "seed": 0,
            "graph_fingerprint": "9f2c1e7ab04d55c3e8f60127d9a1b3c4" * 2,
            "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
            "python": "3.11.9",
            "torch": "2.13.0+cpu",
            "threads": 2,
            "device": "cpu",
            "stages": [
                {"stage": "loading the graph", "seconds": 0.8, "peak_memory_mb": 412.0},
                {"stage": "training", "seconds": 86.9, "peak_memory_mb": 1320.0},
                {"stage": "audit", "seconds": 18.9, "peak_memory_mb": 1405.0},
            ],
            "finished": "2025-01-01T12:00:00+00:00",
            "files": [
                {"role": "table", "path": "people.csv", "sha256": "ab" * 32, "bytes": 19902},
                {"role": "model code", "path": "gcn.py", "sha256": "cd" * 32, "bytes": 812},
            ],
            "command": "fairgear audit gcn:model people.csv --sensitive sex",
        },
    }


def _changes() -> dict[str, Any]:
    names = ("both", "first", "second", "neither")

    def both(*counts: int) -> dict[str, int]:
        return dict(zip(names, counts, strict=True))

    person = {
        "node_id": "P0412",
        "group": 1,
        "y": -1,
        "first_score": 0.81,
        "second_score": 0.22,
        "first_label": 1,
        "second_label": 0,
        "apart": 0.59,
    }
    points = [(0.2, 0.3, 0, 0), (0.8, 0.4, 1, 0), (0.3, 0.7, 0, 1), (0.9, 0.8, 1, 1)]
    keys = ("first", "second", "first_label", "second_label")
    return {
        "groups": [
            {"group": 0, "answers": both(90, 10, 20, 130), "flips": both(5, 10, 40, 195)},
            {"group": 1, "answers": both(140, 25, 5, 80), "flips": both(0, 0, 0, 0)},
        ],
        "people": [person],
        "by_rank": False,
        "points": [dict(zip(keys, point, strict=True)) for point in points],
    }


def _flips() -> list[dict[str, Any]]:
    return [
        {
            "protocol": protocol,
            "intervention": "unchanged" if protocol == "placebo" else intervention,
            "rate": rate,
            "interval": [max(0.0, rate - 0.004), rate + 0.008 if rate else 0.006],
            "gains": rate * 0.6,
            "losses": rate * 0.4,
            "score_shift": rate * 0.4,
            "score_shift_interval": [0.0, rate],
            "score_size": rate * 1.7,
            "rising": 0.31 + rate,
            "rise": 0.023,
            "falling": 0.27,
            "fall": 0.018,
            "people": 500,
            "draws": 1 if intervention in ("rate 0", "rate 1", "self") else 5,
            "error": None if intervention in ("rate 0", "rate 1", "self") else 0.0007,
        }
        for protocol, rates in _RATES.items()
        for intervention, rate in zip(_INTERVENTIONS, rates, strict=False)
    ]


def _group(group: int, count: int, selected: float, found: float, right: float) -> dict[str, Any]:
    rates = {"selection_rate": selected, "true_positive_rate": found, "accuracy": right}
    rates |= {"false_positive_rate": 0.214, "auroc": 0.775, "impact_ratio": selected / 0.536}
    return {
        "group": group,
        "count": count,
        "labelled": count - 3,
        "positives": count // 2,
        "selected": 96,
        **rates,
        "delta_cf": 0.0065,
        "intervals": {name: [rate - 0.06, rate + 0.055] for name, rate in rates.items()}
        | {"delta_cf": [0.001, 0.019]}
        | ({"impact_ratio": [1.0, 1.0]} if selected == 0.536 else {}),
    }


def _causal_model(
    model: str, meaning: str, rate: float | None, error: str | None = None
) -> dict[str, Any]:
    undefined = [None, None]
    difference = None if rate is None else rate - 0.121
    return {
        "model": model,
        "meaning": meaning,
        "rate": rate,
        "interval": undefined if rate is None else [max(0.0, rate - 0.027), rate + 0.031],
        "score_size": None if rate is None else rate * 0.6,
        "difference": difference,
        "difference_interval": undefined
        if difference is None
        else [difference - 0.02, difference + 0.018],
        "part": model.endswith(" only"),
        "trained": None if error else model == "own",
        "credibility": None if error else _credibility(model),
        "unmoved": model == "own",
        "error": error,
    }


def _credibility(model: str) -> dict[str, Any]:
    auroc = 0.97 if model == "own" else 0.56
    return {
        "auroc": auroc,
        "broken": 0.19,
        "order": "highest bill below latest",
        "unsteadiness": 0.1,
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
            "rate 0": {"score": score + 0.12, "flip": 1.0},
            "rate 0.5": {"score": score + 0.04, "flip": 0.6},
            "rate 1": {"score": score - 0.01, "flip": 0.0},
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
        "diagram": {"sex": [], "job": ["sex"], "a very long name of income": ["sex", "job"]},
        "resolving": ["job"],
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


def _generator() -> dict[str, float]:
    return {
        "feature_r2": 0.412,
        "edge_auroc": 0.874,
        "kl": 5.31,
        "base_rate": 0.598,
        "sens_from_h": 0.611,
        "shift_norm": 2.48,
        "self_features_moved": 2.41,
        "self_edges_added": 0.182,
        "self_edges_removed": 0.204,
        "neighbor_features_moved": 1.22,
        "neighbor_edges_added": 0.141,
        "neighbor_edges_removed": 0.163,
        "feature_error": 0.058,
    }


def _generator_history() -> dict[str, Any]:
    rows = [
        {
            "step": step,
            "features": 24 + 14 * math.exp(-step / 120) + 0.3 * _wobble(step),
            "edges": 0.9 + 1.1 * math.exp(-step / 90) + 0.03 * _wobble(step + 1),
            "kl": 5.3 * (1 - math.exp(-step / 200)) + 0.05 * _wobble(step + 2),
            "discriminator": -1.1 - 0.2 * math.exp(-step / 150) + 0.02 * _wobble(step + 3),
            "covariance": 0.9 * math.exp(-step / 60) + 0.002 * (1.2 + _wobble(step + 4)),
        }
        for step in range(5, 1001, 5)
    ]
    return {"training": rows, "validation": [], "best_step": -1, "best_score": None}


def _network_history() -> dict[str, Any]:
    training = [
        {
            "step": step,
            "prediction": 0.54 + 0.17 * math.exp(-step / 110) + 0.015 * _wobble(step),
            "fairness": 0.02 + 0.08 * math.exp(-step / 160) + 0.002 * _wobble(step + 1),
            "consistency": 0.03 + 0.2 * math.exp(-step / 130) + 0.006 * _wobble(step + 2),
        }
        for step in range(5, 1001, 5)
    ]
    validation = []
    for step in range(20, 1001, 20):
        auroc = 0.783 - 0.14 * math.exp(-step / 90) - 0.00002 * step + 0.003 * _wobble(step + 5)
        flips = max(0.0, 0.004 + 0.05 * math.exp(-step / 120) + 0.002 * _wobble(step + 6))
        validation.append(
            {
                "step": step,
                "score": auroc - flips,
                "prediction": 0.56 + 0.14 * math.exp(-step / 90) + 0.00003 * step,
                "fairness": 0.022 + 0.07 * math.exp(-step / 150),
                "consistency": 0.032 + 0.18 * math.exp(-step / 120),
                "auroc": auroc,
                "flips": flips,
            }
        )
    best = max(validation, key=lambda row: row["score"])
    return {
        "training": training,
        "validation": validation,
        "best_step": int(best["step"]),
        "best_score": best["score"],
    }


def _wobble(step: int) -> float:
    """Looks like noise and is the same on every machine."""
    return math.sin(step * 12.9898) * 0.6 + math.sin(step * 4.1414) * 0.4
