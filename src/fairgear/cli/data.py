"""`fairgear data`: what is in a file, before anything is trained on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App

from fairgear.cli.flags import FILE, NO_DATA, DataFlags, examples, given
from fairgear.cli.output import Json, complain, print_json, print_table, say
from fairgear.datasets.source import FileOptions, GraphSource

if TYPE_CHECKING:
    from fairgear.datasets.checkup.checkup import Checkup

data_app = App(
    name="data",
    help="Examine a file: what its columns are read as, and everything that is odd about it.",
    help_epilogue=examples(
        "fairgear data people.csv --label approved --sensitive sex --similarity 0.7",
        'fairgear data people.csv --label approved --sensitive "age<40" --edges friends.csv',
        "fairgear data people.csv --label approved --sensitive race --against White --json",
        "fairgear data people.csv --label grade --sensitive race,sex --edges follows.csv",
    ),
)


class NotAccepted(Exception):
    """The file is not accepted as given: exit status 2."""


@data_app.default
def data(file: Annotated[str, FILE], /, *, json: Json = False, data: DataFlags = NO_DATA) -> None:
    """Read a file as `fairgear run` would, and say at once all that is to be known or corrected.

    Exit status 0 if `fairgear run` accepts the file with these flags, else 2.

    Parameters
    ----------
    file
        A table (.csv, .tsv, .txt, .parquet) or a graph (.pt of PyG, .graphml).
    """
    from fairgear.errors import ParameterError

    source = GraphSource(file, data=FileOptions.from_dict(given(data)))
    if not source.is_table_or_graph:
        got, step = f"{file!r}, which is no file", "see fairgear datasets stats for datasets"
        raise ParameterError("FILE", got, "a file of yours, such as people.csv", step)
    # Before torch is imported: a slip in a name is said at once.
    wrong = source.unknown_names()
    if wrong:
        _say_names(source, [str(error) for error in wrong], json=json)
        raise NotAccepted

    from fairgear.datasets.checkup.checkup import check_up

    found = check_up(source)
    if json:
        print_json(found.to_dict())
    else:
        _show(found)
    if not found.accepted:
        raise NotAccepted


def _say_names(source: GraphSource, wrong: list[str], *, json: bool) -> None:
    """The slips, and the same command without them; what else there is to say comes then."""
    from fairgear.datasets.checkup.finding import command
    from fairgear.datasets.checkup.names import corrected

    meant = corrected(source.data, source.column_names() or [])
    then = None if meant is None else command(source.dataset, meant, "data")
    if json:
        findings = [{"about": "names", "said": line, "refused": True} for line in wrong]
        held = {"file": source.dataset, "accepted": False, "findings": findings}
        print_json({**held, "command": None, "next": then})
    for line in wrong:
        complain(line)
    if then is not None and not json:
        say(f"Try: {then}")


def _show(found: Checkup) -> None:
    if found.columns:
        rows = [(c.name, c.role, c.read_as, c.distinct, c.missing) for c in found.columns]
        head = ("column", "role", "read as", "different values", "missing")
        print_table(f"{found.file}: {found.people:,} people", head, rows)
    for about, said in found.inferred.items():
        say(f"{about}: {said}.")
    for one in found.findings:
        mark = "refused" if one.refused else "note"
        fix = f" Fix: {one.fix}." if one.fix else ""
        say(f"{mark}: {one.about}: {one.said}.{fix}")
    say(_last_line(found))


def _last_line(found: Checkup) -> str:
    if found.command is None:
        return "No flags alone make this file work: correct what is refused first."
    return f"{'Accepted' if found.accepted else 'This works'}: {found.command}"
