"""`fairgear`: its commands, and how every error becomes one line and an exit status.

Exit status: 0 done, 2 bad input, 3 an audit that meets a condition of --fail-if or whose files
`audit verify` finds changed, 130 interrupted, 143 ended by SIGTERM, 1 anything else, such as what
`doctor` finds broken.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Timer
from typing import Any

from cyclopts import App, CycloptsError

from fairgear.cli.audit import ConditionsMet, audit_app
from fairgear.cli.cache import cache_app
from fairgear.cli.compare import compare_app
from fairgear.cli.completion import add_installation
from fairgear.cli.data import NotAccepted, data_app
from fairgear.cli.datasets import datasets_app, store_app
from fairgear.cli.doctor import NotHealthy, doctor_app
from fairgear.cli.first import demo_app, show_first_steps
from fairgear.cli.flags import examples
from fairgear.cli.judge import judge_app
from fairgear.cli.links import links_app
from fairgear.cli.methods import methods_app
from fairgear.cli.output import complain
from fairgear.cli.reproduce import reproduce_app
from fairgear.cli.results import embed_app, report_app
from fairgear.cli.run import run_app
from fairgear.cli.tune import tune_app
from fairgear.cli.verify import NotVerified
from fairgear.environment import check_threads
from fairgear.errors import FairgearError, LostRankError, UnfinishedError
from fairgear.evidence import command
from fairgear.interruption import Terminated, watched
from fairgear.progress import show_cursor
from fairgear.version import installed_version

# Characters of what the parser says.
_LONGEST = 1000
# Commands that go on where they were interrupted.
_RESUMED = ("demo", "run", "links", "compare", "tune", "reproduce", "judge")

app = App(
    name="fairgear",
    help="Graph models that treat people alike, and the audit that shows it.",
    version=installed_version,
    # The parser would end the process by itself, without saying what was kept.
    suppress_keyboard_interrupt=False,
    help_epilogue=examples(
        "fairgear demo",
        "fairgear run --help",
        "fairgear data people.csv --label approved --sensitive sex",
        "fairgear audit runs/synthetic-gear-0",
        "fairgear datasets list",
    ),
    help_format="plaintext",
)
for one in (
    demo_app,
    run_app,
    data_app,
    audit_app,
    links_app,
    compare_app,
    tune_app,
    reproduce_app,
    judge_app,
    report_app,
    embed_app,
    store_app,
    methods_app,
    datasets_app,
    doctor_app,
    cache_app,
):
    app.command(one)
add_installation(app)
# How commands end that have said all there is to say.
_STATUS = {ConditionsMet: 3, NotVerified: 3, NotAccepted: 2, NotHealthy: 1}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    # Read when torch is loaded. Threads that spin while they wait take cores from other processes
    # and from each other: training steps took up to 19 times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # Spinning for some microseconds is worth it, since the other thread is mostly done by then:
    # waking a sleeping one made a training step take half as long again.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    _never_fail_to_print()
    _name_a_folder_for_torch()
    try:
        check_threads()
        # Without arguments of a caller this is the whole process.
        whole = arguments is None
        with (
            watched(partial(_say_interrupted, tokens), to_the_end=whole),
            _interrupts_heard(),
            command(["fairgear", *tokens]),
        ):
            if tokens:
                app(tokens, exit_on_error=False, print_error=False, result_action="return_none")
            else:
                show_first_steps()
        # Here, where an error still becomes a line.
        sys.stdout.flush()
    except tuple(_STATUS) as end:
        return _STATUS[type(end)]
    except CycloptsError as error:
        return _say(_misunderstood(error), 2)
    except (LostRankError, UnfinishedError) as error:
        return _say(str(error), 1)
    except FairgearError as error:
        return _say(str(error), 2)
    except MemoryError:
        return _say("more than fits into memory; use fewer people or columns, or fairgear store", 1)
    except (KeyboardInterrupt, Terminated) as error:
        return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)
    except OSError as error:
        return _refused(error)
    except Exception:
        return _bug()
    return 0


@contextmanager
def _interrupts_heard() -> Iterator[None]:
    """Ctrl-C may fall into a callback that can raise nothing, as when code is compiled.

    Python would print that and go on. Here the signal comes again, until it is heard.
    """
    before, waiting = sys.unraisablehook, list[Timer]()

    def again(found: Any) -> None:
        if found.exc_type is not KeyboardInterrupt:
            before(found)
            return
        waiting.append(Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)))
        waiting[-1].start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in waiting:
            timer.cancel()


def _misunderstood(error: CycloptsError) -> str:
    """The parser's message has several lines, and what was typed may be a book; ours is one."""
    said = " ".join(str(error).split())
    shown = said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
    return f"{shown} Next: see fairgear --help."


def _bug() -> int:
    traceback.print_exc()
    return _say("this is a bug; please report the lines above", 1)


def _refused(error: OSError) -> int:
    """What the system does not let us do: a full disk, a folder of somebody else, a long name."""
    if error.errno is None:
        return _bug()
    try:
        sys.stdout.flush()
    except OSError:
        # What is still to be written goes nowhere, without another error at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        # The reader of our output has closed it, as `head` does.
        return 0
    place = f" at {error.filename}" if error.filename else ""
    line = f"the system refused: {error.strerror}{place}. Next: correct that, and start again."
    return _say(line, 1)


def _name_a_folder_for_torch() -> None:
    """Where nothing can be written, not even temporary files.

    torch must have the name of a folder when it is loaded, but writes nothing there until
    something is compiled with it.
    """
    try:
        tempfile.gettempdir()
    except OSError:
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.dirname(__file__))


def _never_fail_to_print() -> None:
    """Characters that the terminal's encoding lacks are written out, such as δ in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _say_interrupted(tokens: Sequence[str], number: int) -> None:
    """What an interrupted command has kept."""
    name, first = [*tokens, "", ""][:2]
    resumes = name in _RESUMED
    said = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    if resumes or (name, first) == ("audit", "export"):
        said += "; the same command resumes"
    elif name == "audit":
        said += "; an audit does not resume: no results were written, start it again"
    show_cursor()
    complain(said)


def _say(message: str, status: int) -> int:
    complain(message)
    return status
