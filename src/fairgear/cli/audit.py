"""`fairgear audit`: any model in, and a page, a table, a JSON and a model card out."""

from __future__ import annotations

import re
import sys
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.completers import one_of
from fairgear.cli.flags import (
    FILE,
    NO_AUDIT_DATA,
    SOURCE,
    AuditDataFlags,
    Device,
    examples,
    given,
    options_of,
)
from fairgear.cli.output import (
    Format,
    Json,
    complain,
    ends,
    interval_title,
    number,
    print_json,
    print_metrics,
    print_table,
    say,
)
from fairgear.errors import ParameterError
from fairgear.files import replacing, write_text, writes
from fairgear.runs.audit_config import AuditConfig

if TYPE_CHECKING:
    from fairgear.auditing import Audit
    from fairgear.runs.folder import AuditFolder

audit_app = App(
    name="audit",
    help="Would a model's decisions change, had people been of another group?",
    help_epilogue=examples(
        "fairgear audit runs/synthetic",
        "fairgear audit mymodels:gcn bail",
        'fairgear audit "Rscript score.R {graph} {scores}" people.csv --sensitive sex \\\n'
        "    --label approved --edges friends.csv",
        "fairgear audit scores.csv people.csv --sensitive sex --label approved",
        "fairgear audit runs/mine --against mymodels:gcn",
        'fairgear audit runs/mine --fail-if "delta_cf > 0.05"',
        "fairgear audit runs/mine --format ll144",
        "fairgear audit export bail --out worlds",
        "fairgear audit score worlds",
    ),
)

FORMATS = Parameter(completer=one_of("csv", "parquet", "npz"))
_FAIL_IF = """Such as "delta_cf > 0.05" or "auroc.low < 0.6": exit
status 3 if it holds. May be repeated."""
FailIf = Annotated[list[str] | None, Parameter(name="--fail-if", negative=(), help=_FAIL_IF)]
_JUNIT = """A file for JUnit XML: a test case for each condition of
--fail-if, as build servers show them."""
JUnit = Annotated[Path | None, Parameter(name="--junit", help=_JUNIT)]
_Settings: Any = options_of(AuditConfig, without=["dataset", "data"])
Settings = Annotated[_Settings, Parameter(name="*", group="The audit")]
_DEFAULTS = _Settings()


class ConditionsMet(Exception):
    """An audit met a condition of `--fail-if`: exit status 3."""


@audit_app.default
def audit(
    model: Annotated[str, FILE],
    dataset: Annotated[str | None, SOURCE] = None,
    /,
    *,
    against: Annotated[str | None, FILE] = None,
    method: str | None = None,
    threshold: float | None = None,
    graph_format: Annotated[str, FORMATS] = "csv",
    timeout: float = 300.0,
    device: Device = "auto",
    fail_if: FailIf = None,
    junit: JUnit = None,
    out: Path | None = None,
    format: Format = "page",
    json: Json = False,
    settings: Settings = _DEFAULTS,
    data: AuditDataFlags = NO_AUDIT_DATA,
) -> None:
    """Audit a model on the people of a graph, and on the graph as it would have been.

    Parameters
    ----------
    model
        The folder of a run or a saved model; MODULE:NAME of Python code
        (function of a graph, torch module, scikit-learn estimator); a command
        that reads {graph} and prints scores or writes {scores}; or a file of
        scores of people as they are, which needs no edges and tells of no
        other world (columns id and score or answer).
    dataset
        A name from `fairgear datasets list`, or your own file as for
        `fairgear run`. [default: that of the run, or synthetic]
    against
        Another model to compare it with, person by person.
    method
        MODULE:CLASS of a saved model's own method, which is imported; what
        the model itself names is not, unless it is an installed package.
    threshold
        Scores above it give label 1. [default: the model's own, or 0.5]
    graph_format
        Of a command: csv or parquet, with the columns of your table; or npz,
        with features as fairgear encodes them.
    timeout
        Seconds of a command for one graph.
    out
        The folder to write. [default: audits/DATASET-MODEL]
    """
    from fairgear.runs.audit_config import (
        audit_config,
        is_scores,
        of_scores,
        on_dataset,
        settings_of_run,
        training_people_note,
    )
    from fairgear.runs.config import merged

    conditions = _conditions(fail_if)
    run = settings_of_run(model) or settings_of_run(against or "")
    values = merged(on_dataset(run, dataset), _typed(settings, data))
    if is_scores(model):
        values = of_scores(values, model, against)
    config = audit_config(values)

    name = re.sub(r"[^A-Za-z0-9._]+", "-", f"{config.short_name}-{model}").strip("-.")[:80]

    from fairgear.distributed import on_rank0, process_group, rank

    with process_group(device):
        from fairgear.runs.audits import run_audit
        from fairgear.runs.folder import AuditFolder
        from fairgear.runs.model_spec import encoding_of, files_of, model_of

        def named(text: str) -> Any:
            return model_of(
                text,
                threshold=threshold,
                device=device,
                graph_format=graph_format,
                timeout=timeout,
                id=config.data.id,
                method=method,
            )

        folder = AuditFolder(out if out is not None else Path("audits") / name)
        on_rank0(partial(_claim, folder, junit, conditions))
        # A model may print; stdout is for the results.
        with redirect_stdout(sys.stderr):
            results = run_audit(
                config,
                named(model),
                folder,
                against=None if against is None else named(against),
                encoding=encoding_of(model, against),
                note=training_people_note(run, config),
                files=files_of(model, against, method),
            )
        if rank() == 0:
            _finish(results, folder, conditions, junit, json=json, format=format)


@audit_app.command
def export(
    dataset: Annotated[str, SOURCE] = "synthetic",
    /,
    *,
    out: Path,
    graph_format: Annotated[str, FORMATS] = "csv",
    json: Json = False,
    settings: Settings = _DEFAULTS,
    data: AuditDataFlags = NO_AUDIT_DATA,
) -> None:
    """Write every graph of an audit, to be scored elsewhere.

    Hand over the folder for-scoring in it. Keep key.json: it tells which
    graph is the real one.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your own file as for `fairgear run`.
    out
        The folder to write; an interrupted export resumes.
    graph_format
        csv or parquet, with the columns of your table; or npz, with features as
        fairgear encodes them.
    """
    from fairgear.runs.audit_config import audit_config

    config = audit_config({"dataset": dataset, **_typed(settings, data)})

    from fairgear.runs.audits import export_audit

    count = export_audit(config, out, graph_format=graph_format)
    if json:
        print_json({"out": str(out), "graphs": count})
        return
    place = out / "for-scoring"
    say(
        f"Wrote {count} graphs to {place}: hand that folder over, and keep {out / 'key.json'}. "
        f"When {place / 'scores'} is complete (see {place / 'README.txt'}), run: "
        f"fairgear audit score {out}"
    )


@audit_app.command
def score(
    worlds: Path,
    /,
    *,
    name: str | None = None,
    threshold: float | None = None,
    fail_if: FailIf = None,
    junit: JUnit = None,
    out: Path | None = None,
    format: Format = "page",
    json: Json = False,
) -> None:
    """Audit the scores of exported graphs.

    Parameters
    ----------
    worlds
        The folder that `fairgear audit export` wrote, with key.json, and a file
        of scores for every graph in for-scoring/scores.
    name
        What the report calls the model. [default: the folder's name]
    threshold
        Scores above it give label 1. [default: 0.5]
    out
        The folder to write. [default: WORLDS/audit]
    """
    conditions = _conditions(fail_if)

    from fairgear.runs.audits import audit_scores
    from fairgear.runs.folder import AuditFolder

    folder = AuditFolder(out if out is not None else worlds / "audit")
    _claim(folder, junit, conditions)
    results = audit_scores(worlds, folder, threshold=threshold, name=name)
    _finish(results, folder, conditions, junit, json=json, format=format)


def _conditions(texts: list[str] | None) -> list[str]:
    """The conditions; one that cannot be read is refused before any work is done."""
    from fairgear.auditing import Condition

    for text in texts or []:
        Condition.parse(text)
    return texts or []


def _claim(folder: AuditFolder, junit: Path | None, conditions: list[str]) -> None:
    """Make sure that all can be written, and that no earlier verdict is taken for this one's."""
    if junit is not None and not conditions:
        allowed = "it beside --fail-if, whose conditions are its test cases"
        raise ParameterError("--junit", "it alone", allowed, 'add --fail-if "delta_cf > 0.05"')
    if junit is not None and junit.suffix.lower() != ".xml":
        # What is there is removed: it must not be somebody's data.
        raise ParameterError("--junit", str(junit), "a file that ends in .xml", "rename it")
    if junit is not None and junit.resolve().is_relative_to(folder.path.resolve()):
        got, allowed = f"{junit}, in the folder of the audit", "a file beside that folder"
        raise ParameterError("--junit", got, allowed, f"write it to {folder.path}.xml")
    folder.claim_for_audit()
    if junit is not None and writes():
        with replacing(junit):
            pass
        junit.unlink(missing_ok=True)


def _typed(settings: Any, data: Any) -> dict[str, Any]:
    columns = given(data)
    return {**given(settings), **({"data": columns} if columns else {})}


def _finish(
    results: Audit,
    folder: AuditFolder,
    conditions: list[str],
    junit: Path | None,
    *,
    json: bool,
    format: str,
) -> None:
    """Show the results; where a condition holds, say so and end with its exit status."""
    from fairgear.auditing.sums import renew_sums
    from fairgear.report import junit_xml, ll144_markdown, write_ll144

    if junit is not None:
        write_text(junit, junit_xml(results, conditions))

    if format == "ll144":
        write_ll144(results, folder.ll144)
        renew_sums(folder.path, *(file.name for file in folder.ll144_files))
    if json:
        print_json(results.to_dict())
    elif format == "ll144":
        say(ll144_markdown(results))
    else:
        _show(results)
        say(f"Report: {folder.report}   Model card: {folder.card}")
    failed = results.failures(*conditions)
    for line in (*failed, *results.turning_points(*conditions)):
        complain(line)
    if failed:
        raise ConditionsMet


def _show(results: Audit) -> None:
    from fairgear.metrics import METRICS

    setup, level = results.setup, interval_title(results)
    print_metrics(f"{results.model.name} on {setup.dataset}, {setup.people:,} people", results)
    comparison = results.comparison
    if comparison is not None:
        rows = [
            (
                METRICS[row.metric].label,
                number(row.first),
                number(row.second),
                number(row.difference),
                ends(row.interval),
                {"first": "1", "second": "2", None: ""}[row.better],
            )
            for row in comparison.rows
        ]
        columns = ("metric", "1", "2", "1 − 2", level, "better")
        print_table(f"1: {comparison.first}, 2: {comparison.second}", columns, rows)
    others = results.causal_models
    if others is not None:
        found = [
            (row.model, number(row.rate), ends(row.interval), row.remark) for row in others.rows
        ]
        print_table("δCF by causal model", ("model", "δCF", level, ""), found)
        say(others.verdict)
