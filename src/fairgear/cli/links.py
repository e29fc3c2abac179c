"""`fairgear links`: from a list of edges to an audit of who is recommended to whom."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.audit import ConditionsMet, FailIf
from fairgear.cli.completers import link_methods
from fairgear.cli.flags import (
    NO_DATA,
    SOURCE,
    DataFlags,
    examples,
    given,
    options_of,
)
from fairgear.cli.output import Json, complain, ends, number, print_json, print_table, say
from fairgear.runs.link_config import LinkConfig

if TYPE_CHECKING:
    from fairgear.links import LinkAudit

links_app = App(
    name="links",
    help="Who is linked to whom: predict it, and see whether that would change.",
    help_epilogue=examples(
        "fairgear links people.csv --edges friends.csv --sensitive sex",
        "fairgear links people.csv --edges friends.csv --sensitive sex --time since",
        "fairgear links nba --method graphsage --set dim=32",
        "fairgear links people.csv --edges friends.csv --sensitive sex \\\n"
        '    --method "Rscript score.R {graph} {scores}"',
        "fairgear links people.csv --edges friends.csv --sensitive sex \\\n    --method scores.csv",
    ),
)
_METHODS = Parameter(completer=link_methods)
_WITHOUT = ["dataset", "data", "method", "settings", "quick", "split", "time"]
_Settings: Any = options_of(LinkConfig, without=_WITHOUT)
Settings = Annotated[_Settings, Parameter(name="*", group="The split and the audit")]
_DEFAULTS = _Settings()


@links_app.default
def links(
    dataset: Annotated[str | None, SOURCE] = None,
    /,
    *,
    method: Annotated[str | None, _METHODS] = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set", negative=())] = None,
    time: str | None = None,
    quick: Annotated[bool | None, Parameter(negative=())] = None,
    fail_if: FailIf = None,
    out: Path | None = None,
    json: Json = False,
    settings: Settings = _DEFAULTS,
    data: DataFlags = NO_DATA,
) -> None:
    """Predict links, audit the predictions and lists, and write a folder with a report.

    Some links are put in question, with pairs that are not linked beside them.
    Models never see the edges between them, in any world. Of a directed graph
    these are arcs, one by one: the arc back stays, unless it is in question too.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your table or graph; it needs
        no label. [default: synthetic]
    method
        What to train: gear, graphsage, gcn, nifty-sage, nifty-gcn, c-enc,
        logistic, common-neighbours, … Or what to audit: the folder of a saved
        model, MODULE:NAME (a function of graph and pairs, a module with encode
        and decode), a command that reads {graph} and prints or writes {scores},
        or a file with the columns source, target and score. [default: gear]
    overrides
        NAME=VALUE, a setting of the method, repeatable.
    time
        Column of --edges, numbers or dates: the latest links are for test.
        [default: drawn at random]
    quick
        Few steps, smaller audit: shows that everything works.
    out
        Folder to write or resume. [default: links/DATASET-METHOD]
    """
    from fairgear.auditing.conditions import Condition
    from fairgear.links import LINK_METRICS
    from fairgear.runs.overrides import parse_overrides

    for text in fail_if or []:
        Condition.parse(text, LINK_METRICS)
    typed = {
        "dataset": dataset,
        "method": method,
        "settings": parse_overrides(overrides or [], "--set") or None,
        "time": time,
        "quick": quick,
        "data": given(data) or None,
        **given(settings),
    }
    values = {name: value for name, value in typed.items() if value is not None}
    config = LinkConfig.from_dict(values).checked(labelled=False)
    config.check_names()
    name = re.sub(r"[^A-Za-z0-9._]+", "-", f"{config.short_name}-{config.method}").strip("-.")

    from fairgear.runs.link_folder import LinkFolder
    from fairgear.runs.links import check_model, run_links

    check_model(config)
    config = config.completed()
    folder = LinkFolder(Path("links") / name[:80] if out is None else out)
    # A model may print; stdout is for the results.
    with redirect_stdout(sys.stderr):
        results = run_links(config, folder)
    if json:
        print_json(results.to_dict())
    else:
        _show(results)
        say(f"Report: {folder.report}   Pairs: {folder.pairs_csv}   Lists: {folder.lists_csv}")
    failed = results.failures(*(fail_if or []))
    for line in failed:
        complain(line)
    if failed:
        raise ConditionsMet


def _show(results: LinkAudit) -> None:
    from fairgear.links import LINK_METRICS

    setup = results.setup
    rows = [
        (metric.label, number(results.metrics[key]), ends(results.intervals[key]), metric.direction)
        for key, metric in LINK_METRICS.items()
        if key in results.metrics
    ]
    level = f"{100 * setup.level:g} % interval"
    title = f"{results.model.name} on {setup.dataset}, {setup.pairs:,} pairs"
    print_table(title, ("metric", "value", level, "better"), rows)
