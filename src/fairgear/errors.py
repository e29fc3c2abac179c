"""The one exception family: every message says what, got, allowed and what to do next."""

from __future__ import annotations

from fairgear.text import visible

# Characters of a part of a message that are shown: a cell of a table may hold a whole book.
_SHOWN = 500


class FairgearError(Exception):
    """Something the user can put right; the command line prints it on one line, exit status 2."""

    def __init__(self, what: str, got: object, allowed: object, next_step: str) -> None:
        self.what = what
        self.got = got
        self.allowed = allowed
        self.next_step = next_step
        shown = f"{_short(what)}: got {_short(got)}; allowed: {allowed}. Next: {next_step}."
        super().__init__(visible(" ".join(shown.split())))


class GraphError(FairgearError, ValueError):
    """A graph that is not what it claims to be."""


class ParameterError(FairgearError, ValueError):
    """An argument or a setting outside its range."""


class UnknownNameError(FairgearError, KeyError):
    """A name that no registry holds."""

    # KeyError prints the repr of its argument, which would put our sentence in quotes.
    __str__ = Exception.__str__


class FileError(FairgearError, OSError):
    """A file that is missing, damaged, of another kind, or cannot be written."""

    __str__ = Exception.__str__


class NotFittedError(FairgearError, AttributeError):
    """A method asked for results before `fit`."""


class LostRankError(FairgearError, RuntimeError):
    """Another process of the same job has ended; nobody's input is wrong, so exit status 1."""


class UnfinishedError(FairgearError, RuntimeError):
    """Some of many runs have failed; the others are done, so exit status 1."""


class UndefinedMetricWarning(UserWarning):
    """A measure has no value on this input (a group without positives, say); it is NaN."""


def of_the_machine(error: BaseException) -> bool:
    """Whether memory or the system refused, which says nothing about what was asked of a model."""
    cause = error.__cause__
    while cause is not None:
        # Errors of the system have a number.
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno):
            return True
        cause = cause.__cause__
    return False


def _short(part: object) -> str:
    # What is written out is longer than it was.
    text = visible(str(part)[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
