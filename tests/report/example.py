"""An EXAMPLE of a run, made up to look at the page with. None of its numbers was measured."""

from __future__ import annotations

import math
from typing import Any

_RATES = {
    "strict": (0.006, 0.009, 0.005, 0.004, 0.008, 0.005, 0.006, 0.007),
    "released": (0.002, 0.003, 0.002, 0.001, 0.002, 0.001, 0.0, 0.002),
    "placebo": (0.001, 0.001, 0.001, 0.001, 0.001, 0.001, 0.0, 0.001),
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


def example_run() -> dict[str, Any]:
    """A run with every part there is."""
    metrics = {
        "accuracy": (0.718, 0.676, 0.757),
        "f1": (0.704, 0.655, 0.748),
        "auroc": (0.781, 0.739, 0.820),
        "delta_eo": (0.041, 0.004, 0.121),
        "delta_dp": (0.068, 0.011, 0.139),
        "delta_cf": (0.006, 0.002, 0.014),
        "delta_cf_released": (0.002, 0.000, 0.010),
        "delta_cf_self": (0.005, 0.001, 0.013),
        "delta_cf_neighbor": (0.0061, 0.002, 0.014),
        "delta_cf_both": (0.007, 0.003, 0.016),
        "r2": (0.003, 0.000, 0.021),
    }
    return {
        "metrics": {name: value for name, (value, _, _) in metrics.items()},
        "intervals": {name: [low, high] for name, (_, low, high) in metrics.items()},
        "config": {
            "dataset": "synthetic",
            "graph_seed": 0,
            "split": "released",
            "seed": 0,
            "method": "gear",
            "device": "auto",
            "gear": _gear(),
        },
        "provenance": {
            "version": "0.1.0",
            "seed": 0,
            "data_sha256": "9f2c1e7ab04d55c3e8f60127d9a1b3c4" * 2,
            "platform": "Linux-6.1.0-x86_64-with-glibc2.36",
            "python": "3.11.9",
            "torch": "2.13.0+cpu",
            "threads": 2,
            "stages": [
                {"stage": "data", "seconds": 0.8, "peak_memory_mb": 412.0},
                {"stage": "ego subgraphs", "seconds": 1.2, "peak_memory_mb": 512.0},
                {"stage": "generator", "seconds": 21.4, "peak_memory_mb": 890.0},
                {"stage": "network", "seconds": 64.3, "peak_memory_mb": 1320.0},
                {"stage": "audit", "seconds": 18.9, "peak_memory_mb": 1405.0},
            ],
            "finished": "2025-01-01T12:00:00+00:00",
        },
        "details": {
            "flips": _flips(),
            "groups": [
                _group(0, 205, 0.468, 0.701, 0.722),
                _group(1, 295, 0.536, 0.742, 0.715),
            ],
            "generator": _generator(),
            "history": {"generator": _generator_history(), "network": _network_history()},
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
            "notes": [
                "The strict counterfactuals are exact: the graph was made by the causal model.",
                "Example data: every number on this page is made up.",
            ],
        },
    }


def _group(group: int, count: int, selected: float, found: float, right: float) -> dict[str, Any]:
    return {
        "group": group,
        "count": count,
        "selection_rate": selected,
        "true_positive_rate": found,
        "accuracy": right,
    }


def _flips() -> list[dict[str, Any]]:
    return [
        {
            "protocol": protocol,
            "intervention": intervention,
            "rate": rate,
            "interval": [max(0.0, rate - 0.004), rate + 0.008 if rate else 0.006],
            "gains": rate * 0.6,
            "losses": rate * 0.4,
            "score_size": rate * 1.7,
            "people": 500,
            "draws": 1 if intervention in ("rate 0", "rate 1", "self") else 5,
            "error": None if intervention in ("rate 0", "rate 1", "self") else 0.0007,
        }
        for protocol, rates in _RATES.items()
        for intervention, rate in zip(_INTERVENTIONS, rates, strict=True)
        if protocol != "placebo" or intervention == "average over rates"
    ]


def _generator() -> dict[str, float | None]:
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
    return {"training": rows, "validation": [], "best_step": -1, "best_score": -math.inf}


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
    """Looks like noise, is the same everywhere."""
    return math.sin(step * 12.9898) * 0.6 + math.sin(step * 4.1414) * 0.4


def _gear() -> dict[str, Any]:
    return {
        "encoder": "graphsage",
        "variant": "full",
        "k": 20,
        "alpha": 0.15,
        "layers": 2,
        "dim": 256,
        "dropout": 0.5,
        "fairness_weight": 0.6,
        "neighbor_weight": 0.4,
        "neighbor_draws": 2,
        "logit_weight": 1.0,
        "weight_decay": 1e-5,
        "projection_heads": False,
        "min_dose": 0.0,
        "edge_noise": 0.3,
        "use_sens": False,
        "erase": 1.0,
        "normalize_rows": False,
        "learning_rate": 0.001,
        "steps": 1000,
        "batch_size": 100,
        "validate_every": 20,
        "averaging": 0.0,
        "selection": "tradeoff",
        "threshold": "half",
        "generator": {
            "latent": 16,
            "hidden": 64,
            "discriminator_weight": 0.1,
            "ranges": 4,
            "covariance_weight": 100.0,
            "steps": 1000,
            "batch_size": 200,
            "learning_rate": 0.003,
        },
    }
