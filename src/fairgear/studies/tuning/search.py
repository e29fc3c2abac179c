"""The search: trials in rounds, the same ones whatever the number of jobs and interruptions.

The first round holds the references and the trials that follow from no other. In each later round
the settings follow from the trials of the rounds before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairgear.errors import FileError, GraphError
from fairgear.files import alone_in
from fairgear.methods import METHODS
from fairgear.methods.trainable import check_trainable
from fairgear.progress import bar
from fairgear.studies.engine import check_jobs, finished
from fairgear.studies.judging.sampler import MAXIMIZE, MINIMIZE, STARTUP, check_optuna, suggest
from fairgear.studies.records import Columns, Rows
from fairgear.studies.tuning.measure import halves, measured
from fairgear.studies.tuning.plan import DEFAULT, FLOOR, TRIAL, Candidate, Tuning

# Trials of a round: none of them knows the others.
ROUND = 4
COLUMNS = Columns(
    ("kind", "number"),
    ("number", "people"),
    ("utility", "flips", "seconds"),
    ("recipe", "entry", "settings", "utility_name", "utility", "flips", "people", "worst_model"),
    {"settings": dict[str, Any]},
)


def carry_out(tuning: Tuning, out: Path, *, jobs: int | None = None) -> list[dict[str, Any]]:
    """Measure what has no row yet, and give the rows: the default, floors, then trials.

    The same call goes on with an interrupted search, and gives the same rows.

    Args:
        tuning: what to search.
        out: the folder of trials.csv.
        jobs: candidates at a time, each with one thread; None for one a core, 0 for none.
    """
    check_jobs(jobs, "loky")
    check_optuna("fairgear tune")
    table = read_rows(tuning, out)
    references = _able(tuning)
    total = len(references) + tuning.trials
    if jobs != 0:
        with alone_in(out), bar("settings tried", total, done=_done(table, tuning)) as progress:
            for candidates in _rounds(tuning, references, table):
                left = [one for one in candidates if one.key not in table]
                for outcome, _ in finished(left, measured, {tuning.device}, jobs=jobs):
                    assert outcome.row is not None
                    table.add(_row(outcome.cell, outcome.row))
                    progress.advance(1, _best(table))
    missing = total - _done(table, tuning)
    if missing:
        step = "run the same command with --jobs 1 or more"
        raise FileError(f"folder {out}", f"{missing} of {total} to be tried", "all of them", step)
    order = (DEFAULT, FLOOR, TRIAL)
    rows = [row for row in table.all() if row["kind"] != TRIAL or row["number"] < tuning.trials]
    return sorted(rows, key=lambda row: (order.index(row["kind"]), row["number"]))


def read_rows(tuning: Tuning, out: Path) -> Rows:
    """The rows at hand; those of another search are refused."""
    table = Rows(out / "trials.csv", COLUMNS)
    for row in table.all():
        if row["recipe"] != tuning.recipe:
            raise FileError(
                f"rows {table.path}",
                "trials of other data, another method, version or kind of search",
                f"trials of the search {tuning.recipe}",
                "name another --out, or remove that folder",
            )
    return table


def _able(tuning: Tuning) -> list[Candidate]:
    """The references that can learn what the graph holds; the method itself must."""
    # Read once here, so that a graph that cannot be trained on is refused in one line.
    graph = halves(tuning.source.load(), tuning.source.seed)[0]
    found = []
    for one in tuning.references():
        method = METHODS[one.method]
        kinds = {"several_groups": method.several_groups, "number_of_s": method.number_of_s}
        try:
            check_trainable(graph, method.targets, one.method, **kinds)
        except GraphError:
            if one.kind == DEFAULT:
                raise
            continue
        found.append(one)
    return found


def _rounds(tuning: Tuning, references: list[Candidate], table: Rows) -> Iterator[list[Candidate]]:
    """Candidates by round; each is made when the rows of those before it are there."""
    first = min(STARTUP, tuning.trials)
    yield [*references, *(_trial(tuning, number, []) for number in range(first))]
    for begin in range(first, tuning.trials, ROUND):
        known = [table[TRIAL, number] for number in range(begin)]
        yield [
            _trial(tuning, number, known)
            for number in range(begin, min(begin + ROUND, tuning.trials))
        ]


def _trial(tuning: Tuning, number: int, known: list[dict[str, Any]]) -> Candidate:
    """The trial of that number, from the trials of earlier rounds."""
    words = ["tune", tuning.source.seed, tuning.contestant.entry, number]
    found = [(json.loads(row["settings"]), (row["utility"], row["flips"])) for row in known]
    both = (MAXIMIZE, MINIMIZE)
    return tuning.trial(number, suggest(tuning.contestant.space, words, found, directions=both))


def _row(one: Candidate, found: dict[str, Any]) -> dict[str, Any]:
    about = {"kind": one.kind, "number": one.number, "recipe": one.tuning.recipe}
    return about | {"entry": one.entry, "settings": json.dumps(dict(one.searched))} | found


def _done(table: Rows, tuning: Tuning) -> int:
    return sum(row["kind"] != TRIAL or row["number"] < tuning.trials for row in table.all())


def _best(table: Rows) -> dict[str, float]:
    """For the bar: the best utility so far, and the fewest flips."""
    rows = table.all()
    name = rows[0]["utility_name"]
    return {name: max(row["utility"] for row in rows), "flips": min(row["flips"] for row in rows)}
