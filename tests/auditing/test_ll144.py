"""The tables of Local Law 144: the examples of 6 RCNY § 5-301, and counts by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing.ll144 import ll144_table
from fairgear.auditing.names import Names
from fairgear.errors import ParameterError
from fairgear.graph.attributes import Attribute
from fairgear.graph.targets import BINARY, Target

SEX = Names(("Female", "Male"), ("no", "yes"), attribute="sex")
RACE = ("Hispanic or Latino", "White", "Black", "Native Hawaiian", "Asian", "others")


def scored(counts: list[tuple[int, int]]) -> pd.DataFrame:
    """People of groups from 0, so many of each and so many of these above the median score."""
    sens = np.repeat(np.arange(len(counts)), [n for n, _ in counts])
    above = np.concatenate([np.arange(n) < high for n, high in counts])
    noise = np.random.default_rng(0).random(len(sens))
    return pd.DataFrame({"sens": sens, "score": above + noise, "label": above.astype(int)})


def by_category(table: pd.DataFrame, title: str = "sex") -> dict[str, pd.Series]:
    rows = table[table["categories"] == title]
    return {row["category"]: row for _, row in rows.iterrows()}


def test_the_rules_example_of_scores() -> None:
    """Male 92, 54.3 %, 1.00; Female 76, 44.7 %, 0.82."""
    # As many above the median as below: the median is that of all 168.
    rows = by_category(ll144_table(scored([(76, 34), (92, 50)]), SEX, BINARY))
    assert (rows["Male"].applicants, rows["Female"].applicants) == (92, 76)
    assert f"{rows['Male'].scoring_rate:.1%}" == "54.3%"
    assert f"{rows['Female'].scoring_rate:.1%}" == "44.7%"
    assert f"{rows['Male'].scoring_impact_ratio:.2f}" == "1.00"
    assert f"{rows['Female'].scoring_impact_ratio:.2f}" == "0.82"


def test_the_rules_example_of_scores_by_race() -> None:
    counts = [(28, 18), (40, 15), (32, 16), (8, 5), (24, 10), (36, 20)]
    names = Names(RACE, attribute="race")
    rows = by_category(ll144_table(scored(counts), names, BINARY), "race")
    shown = [f"{rows[name].scoring_impact_ratio:.2f}" for name in RACE[:5]]
    assert shown == ["1.00", "0.58", "0.78", "0.97", "0.65"]


def test_the_rules_example_of_selection() -> None:
    """Male 1390, 667 selected, 48 %, 1.00; Female 1181, 555, 47 %, 0.979."""
    rows = by_category(ll144_table(scored([(1181, 555), (1390, 667)]), SEX, BINARY))
    assert (rows["Male"].selected, rows["Female"].selected) == (667, 555)
    assert f"{rows['Male'].selection_rate:.0%}" == "48%"
    assert f"{rows['Female'].selection_rate:.0%}" == "47%"
    assert f"{rows['Male'].impact_ratio:.2f}" == "1.00"
    assert f"{rows['Female'].impact_ratio:.3f}" == "0.979"


def test_scores_at_the_median_are_not_above_it() -> None:
    table = pd.DataFrame({"sens": [0, 0, 1, 1, 1], "score": [1, 2, 2, 2, 3], "label": 0})
    rows = by_category(ll144_table(table, SEX, BINARY))
    assert (rows["Female"].above_median, rows["Male"].above_median) == (0, 1)


def test_unknown_people_count_towards_the_median_and_nothing_else() -> None:
    table = scored([(50, 20), (50, 30)])
    table.loc[:9, "sens_known"] = False
    table = table.assign(sens_known=table.index >= 10)
    table.loc[:9, "score"] += 5
    rows = by_category(ll144_table(table, SEX, BINARY))
    known, median = table[table["sens_known"]], table["score"].median()
    for name, group in (("Female", 0), ("Male", 1)):
        members = known[known["sens"] == group]
        assert rows[name].applicants == len(members)
        assert rows[name].scoring_rate == pytest.approx((members["score"] > median).mean())
        assert rows[name].selection_rate == pytest.approx(members["label"].mean())
    assert rows["unknown"].applicants == 10
    assert np.isnan(rows["unknown"].selection_rate)
    assert "not included" in rows["unknown"].excluded


CROSSED = Names(
    ("a, f", "a, m", "b, f", "b, m"),
    attribute="race, sex",
    attributes=(Attribute("race", ("a", "b")), Attribute("sex", ("f", "m"))),
    cells=((0, 0), (0, 1), (1, 0), (1, 1)),
)


def test_crossed_attributes_have_each_by_itself_and_their_intersections() -> None:
    table = scored([(40, 10), (60, 30), (30, 20), (70, 40)])
    found = ll144_table(table, CROSSED, BINARY)
    assert found["categories"].unique().tolist() == ["race", "sex", "race, sex"]
    race, sex, cells = (by_category(found, of) for of in ("race", "sex", "race, sex"))
    assert race["a"].selection_rate == pytest.approx(40 / 100)
    assert race["a"].impact_ratio == pytest.approx((40 / 100) / (60 / 100))
    assert sex["f"].selection_rate == pytest.approx(30 / 70)
    assert sex["f"].impact_ratio == pytest.approx((30 / 70) / (70 / 130))
    assert cells["a, f"].impact_ratio == pytest.approx((10 / 40) / (20 / 30))
    assert cells["b, f"].impact_ratio == 1


def test_a_category_under_two_percent_has_its_rate_and_a_reason_but_no_ratio() -> None:
    names = Names(("one", "two", "few"), attribute="race")
    rows = by_category(
        ll144_table(scored([(500, 250), (481, 300), (19, 19)]), names, BINARY), "race"
    )
    assert rows["few"].applicants == 19
    assert rows["few"].selection_rate == 1
    assert np.isnan(rows["few"].impact_ratio)
    assert rows["few"].excluded.startswith("1.9 % of the people of known category, less than 2 %")
    assert rows["two"].impact_ratio == 1
    assert rows["one"].excluded == ""
    rows = by_category(
        ll144_table(scored([(500, 250), (480, 300), (20, 20)]), names, BINARY), "race"
    )
    assert rows["few"].impact_ratio == 1
    assert rows["few"].excluded == ""


def test_each_of_several_answers_has_its_rates_and_numbers_only_scores() -> None:
    table = pd.DataFrame({"sens": [0, 0, 1, 1], "score": 0.5, "label": [0, 2, 2, 2]})
    classes = Target("multiclass", ("x", "y", "z"))
    found = ll144_table(table, Names(("f", "m"), attribute="sex"), classes)
    assert found["answer"].unique().tolist() == ["x", "y", "z"]
    assert found["scoring_rate"].isna().all()
    last = by_category(found[found["answer"] == "z"])
    assert (last["f"].impact_ratio, last["m"].impact_ratio) == (0.5, 1)
    assert by_category(found[found["answer"] == "y"])["f"].isna()["impact_ratio"]
    number = table.assign(score=[1.0, 4.0, 3.0, 9.0], label=[1.0, 4.0, 3.0, 9.0])
    found = ll144_table(number, Names(("f", "m"), attribute="sex"), Target("regression", ()))
    assert found["selection_rate"].isna().all()
    assert by_category(found)["f"].scoring_rate == 0.5


def test_a_number_has_no_categories_and_people_are_needed() -> None:
    age = Names(("18 to 40", "41 to 80"), number="age", attribute="age")
    with pytest.raises(ParameterError, match="age<40"):
        ll144_table(scored([(5, 2), (5, 3)]), age, BINARY)
    with pytest.raises(ParameterError, match="without its people"):
        ll144_table(pd.DataFrame(), SEX, BINARY)


def test_who_told_one_of_two_attributes_is_in_its_table() -> None:
    at = np.arange(240)
    told = np.stack([at % 5 != 2, at % 7 != 3], axis=1)
    people = pd.DataFrame(
        {
            "sens": at % 4,
            "label": at % 3 == 0,
            "score": at / 240,
            "sens_known": told.all(axis=1),
            "sens_known_1": told[:, 0],
            "sens_known_2": told[:, 1],
        }
    )
    people["label"] = people["label"].astype(np.int64)
    each = (Attribute("race", ("a", "b")), Attribute("sex", ("female", "male")))
    cells = ((0, 0), (0, 1), (1, 0), (1, 1))
    found = ll144_table(people, Names(attribute="race, sex", attributes=each, cells=cells), BINARY)
    for place, of in enumerate(each):
        table = by_category(found, of.name)
        for code, name in enumerate(of.values):
            some = told[:, place] & (np.array(cells)[at % 4, place] == code)
            assert table[name]["applicants"] == some.sum()
            assert table[name]["selected"] == people["label"][some].sum()
        assert table["unknown"]["applicants"] == (~told[:, place]).sum()
    assert by_category(found, "race, sex")["unknown"]["applicants"] == (~told.all(axis=1)).sum()
