"""Make the tables of invented people in this folder, the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

COUNT = 400
APPLICANTS = 1000
JOBS = ("clerk", "engineer", "nurse", "teacher", "driver")
CITIES = ("Aachen", "Bergen", "Cardiff", "Dijon")
RACES = ("Asian", "Black", "Hispanic", "Native", "White")


def people(rng: np.random.Generator) -> pd.DataFrame:
    """A table with numbers, text and a yes or no; women earn less here, all else the same."""
    women = rng.random(COUNT) < 0.5
    age = rng.integers(21, 66, COUNT)
    job = rng.integers(0, len(JOBS), COUNT)
    pay = np.array([31, 52, 38, 41, 33])[job] + 0.3 * (age - 21) - 5 * women
    income = np.round((pay + rng.normal(0, 4, COUNT)) * 10) * 100
    debt = np.round(rng.gamma(2.0, 4.0, COUNT) * 10) * 100
    score = 0.08 * (income / 1000 - 42) - 0.12 * (debt / 1000 - 8) + rng.logistic(0, 0.7, COUNT)
    return pd.DataFrame(
        {
            "id": [f"P{number:04d}" for number in range(COUNT)],
            "age": age,
            "income": income.astype(int),
            "debt": debt.astype(int),
            "job": np.array(JOBS)[job],
            "city": np.array(CITIES)[rng.integers(0, len(CITIES), COUNT)],
            "owner": rng.random(COUNT) < 0.3,
            "sex": np.where(women, "female", "male"),
            "approved": np.where(score > 0, "yes", "no"),
        }
    )


def friends(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Three friends each, chosen among those of the same city, more often of similar age."""
    pairs = set()
    for row in range(len(table)):
        near = np.flatnonzero((table.city == table.city[row]).to_numpy())
        near = near[near != row]
        weight = np.exp(-np.abs(table.age[near] - table.age[row]) / 5).to_numpy()
        for other in rng.choice(near, 3, replace=False, p=weight / weight.sum()):
            pairs.add((min(row, int(other)), max(row, int(other))))
    ends = np.array(sorted(pairs))
    ids = table.id.to_numpy()
    return pd.DataFrame({"source": ids[ends[:, 0]], "target": ids[ends[:, 1]]})


def applicants(rng: np.random.Generator) -> pd.DataFrame:
    """A table with race, sex and age, each of which moves income, debt or years in the job."""
    race = rng.choice(len(RACES), APPLICANTS, p=[0.15, 0.2, 0.2, 0.08, 0.37])
    women = rng.random(APPLICANTS) < 0.5
    age = rng.integers(20, 70, APPLICANTS)
    job = rng.integers(0, len(JOBS), APPLICANTS)
    pay = np.array([31, 52, 38, 41, 33])[job] + 0.25 * (age - 20)
    pay = pay + np.array([1, -5, -4, -7, 2])[race] - 4 * women + rng.normal(0, 5, APPLICANTS)
    years = np.minimum(rng.gamma(2.0, 0.12, APPLICANTS) * (age - 18), age - 18)
    debt = rng.gamma(2.0, 4.0, APPLICANTS) * np.array([0.9, 1.2, 1.1, 1.3, 1.0])[race]
    score = 0.1 * (pay - 42) - 0.12 * (debt - 8) + 0.08 * (years - 5)
    loan = 12 + 1.1 * np.maximum(pay - 25, 0) - 0.5 * debt + rng.normal(0, 4, APPLICANTS)
    return pd.DataFrame(
        {
            "id": [f"A{number:04d}" for number in range(APPLICANTS)],
            "age": age,
            "income": (np.round(pay * 10) * 100).astype(int),
            "debt": (np.round(debt * 10) * 100).astype(int),
            "years": np.round(years, 1),
            "job": np.array(JOBS)[job],
            "city": np.array(CITIES)[rng.integers(0, len(CITIES), APPLICANTS)],
            "race": np.array(RACES)[race],
            "sex": np.where(women, "female", "male"),
            "approved": np.where(score + rng.logistic(0, 0.6, APPLICANTS) > 0, "yes", "no"),
            "loan": (np.round(np.maximum(loan, 1) * 10) * 100).astype(int),
        }
    )


if __name__ == "__main__":
    folder = Path(__file__).parent
    rng = np.random.default_rng(0)
    table = people(rng)
    table.to_csv(folder / "people.csv", index=False)
    friends(table, rng).to_csv(folder / "friends.csv", index=False)
    rng = np.random.default_rng(1)
    table = applicants(rng)
    table.to_csv(folder / "applicants.csv", index=False)
    friends(table, rng).to_csv(folder / "colleagues.csv", index=False)
