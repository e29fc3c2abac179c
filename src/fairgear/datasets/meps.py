"""MEPS: older people in the United States, joined where their lives are alike."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairgear.datasets.base import Dataset
from fairgear.datasets.download import RemoteFile, fetch
from fairgear.datasets.tables import alike_graph
from fairgear.graph import SensitiveGraph

TABLE = RemoteFile(
    "meps/meps.csv.bz2",
    "https://raw.githubusercontent.com/bashtage/linearmodels/main/linearmodels/datasets/meps/meps.csv.bz2",
    sha256="a1af80a64117e07b7bdd909893cf15ac688f03e010f3571562618a421e22d62a",
    size=304_022,
)
# Indicators of one category each, and the level that has none.
_HEALTH = {"vegood": "very good", "good": "good", "fair": "fair", "poor": "poor"}
_INCOME = {"poverty": "poor", "lowincome": "low", "midincome": "middle"}
# Functions of other columns, and parts of the sensitive one.
_DERIVED = ["age2", "linc", "vgh", "fph", "black", "hisp"]
_MONEY = "expenses are no need: who has less money or worse insurance spends less when as ill"
_SELECTED = "only people with some expenses, so that those who bought nothing are missing"
_SURVEY = "survey weights and households are not in the file"


def load_meps() -> SensitiveGraph:
    """10,391 people; sensitive blhisp, label: drug expenses above the median."""
    frame = pd.read_csv(fetch(TABLE))
    above = frame["drugexp"] > frame["drugexp"].median()
    return alike_graph(MEPS, _features(frame).assign(**{MEPS.label: above.astype(int)}))


def load_meps_expenses() -> SensitiveGraph:
    """The same people; sensitive ethnicity, of three groups, label: the logarithm of expenses."""
    frame = pd.read_csv(fetch(TABLE))
    ethnicity = np.where(frame["black"] == 1, "Black", "other")
    ethnicity = np.where(frame["hisp"] == 1, "Hispanic", ethnicity)
    table = _features(frame).drop(columns="blhisp").assign(ethnicity=ethnicity)
    return alike_graph(EXPENSES, table.assign(**{EXPENSES.label: frame["ldrugexp"]}))


def _features(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the label, and with one column for each category."""
    health, income = _level(frame, _HEALTH, "excellent"), _level(frame, _INCOME, "high")
    unused = ["drugexp", "ldrugexp", *_DERIVED, *_HEALTH, *_INCOME]
    return frame.drop(columns=unused).assign(health=health, income_group=income)


def _level(frame: pd.DataFrame, indicators: dict[str, str], otherwise: str) -> pd.Series:
    """One column for a category; the first where there are two."""
    held = [frame[name] == 1 for name in indicators]
    return pd.Series(np.select(held, list(indicators.values()), otherwise), index=frame.index)


MEPS = Dataset(
    name="meps",
    summary="10,391 people of 65 and more in the United States; are their drugs expensive?",
    load=load_meps,
    sensitive="blhisp",
    label="high_drugexp",
    files=(TABLE,),
    source="linearmodels, by all signs after Cameron and Trivedi; Medical Expenditure Panel Survey",
    licence="none stated for the data; NCSA for the package that has it",
    problems=(
        _MONEY,
        _SELECTED,
        "blhisp puts black and Hispanic people together; everybody else is 0",
        _SURVEY,
    ),
)

EXPENSES = Dataset(
    name="meps-expenses",
    summary="the same people in three groups by ethnicity; how expensive are their drugs?",
    load=load_meps_expenses,
    sensitive="ethnicity",
    label="log_drugexp",
    files=(TABLE,),
    source=MEPS.source,
    licence=MEPS.licence,
    problems=(
        _MONEY,
        _SELECTED,
        "Hispanic people are of any race; everybody who is neither is 'other'",
        _SURVEY,
    ),
)
