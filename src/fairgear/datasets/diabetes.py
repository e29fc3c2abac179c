"""Diabetes: patients whose disease was measured again a year later, joined where alike."""

from __future__ import annotations

import pandas as pd

from fairgear.datasets.base import Dataset
from fairgear.datasets.tables import alike_graph
from fairgear.graph import SensitiveGraph


def load_diabetes() -> SensitiveGraph:
    """442 patients; sensitive sex, label: progression above the median; from scikit-learn."""
    from sklearn import datasets

    frame: pd.DataFrame = datasets.load_diabetes(as_frame=True, scaled=False).frame
    progression = frame.pop("target")
    above = (progression > progression.median()).astype(int)
    return alike_graph(DIABETES, frame.assign(**{DIABETES.label: above}))


DIABETES = Dataset(
    name="diabetes",
    summary="442 patients with diabetes; is it worse than the median a year later?",
    load=load_diabetes,
    sensitive="sex",
    label="high_progression",
    source="Efron, Hastie, Johnstone and Tibshirani, 2004; part of scikit-learn",
    licence="none stated for the data; BSD for the package that has it",
    problems=(
        "442 people, 88 of them for test: intervals are wide",
        "which sex is which is not documented",
        "how the progression was measured is not documented either",
        "columns depend on each other: s4 is s1 over s3 up to rounding",
    ),
)
