"""Could the people exist whom each feature model makes?

    .venv/bin/python -m benchmarks.credibility             # all rows, two minutes of one core
    .venv/bin/python -m benchmarks.credibility --table     # the table from the rows

One row a graph and a feature model. Maps are learned from everybody, and everybody is compared.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

import pandas as pd

import fairgear as fg
from benchmarks import RESULTS
from fairgear.auditing import Worlds
from fairgear.auditing.provenance import source_commit
from fairgear.causal import FEATURE_MODELS, with_features

ROWS = RESULTS / "credibility.csv"
GRAPHS = ("bail", "credit", "german", "nba")


def measure() -> pd.DataFrame:
    """A row for each graph and feature model."""
    rows = []
    for name in GRAPHS:
        graph = fg.datasets.load(name)
        for features in FEATURE_MODELS:
            worlds = Worlds(graph, with_features(features, graph), draws=1, protocol="released")
            found = worlds.family.members[0].credibility
            assert found is not None
            row = {"graph": name, "model": features, **asdict(found)}
            rows.append({**row, "verdict": found.verdict, "commit": source_commit()})
            print(name, features, found.verdict, flush=True)
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame) -> str:
    """AUROC, and in brackets the share of impossible people, by feature model and graph."""
    lines = [f"| model | {' | '.join(GRAPHS)} |", f"|---|{'---:|' * len(GRAPHS)}"]
    for features, of in rows.groupby("model", sort=False):
        cells = []
        for name in GRAPHS:
            (one,) = of[of["graph"] == name].to_dict("records")
            broken = f" ({one['broken']:.0%})" if one["broken"] > 0 else ""
            cells.append(f"{one['auroc']:.2f}{broken}")
        lines.append(f"| `{features}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="the table from the rows")
    if parser.parse_args().table:
        print(table(pd.read_csv(ROWS)))
        return
    measure().to_csv(ROWS, index=False)


if __name__ == "__main__":
    main()
