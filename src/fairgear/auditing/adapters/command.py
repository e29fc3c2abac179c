"""Models behind a command: a program in any language that reads a graph and writes scores."""

from __future__ import annotations

import shlex
from pathlib import Path

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.program import NotStarted, Program, TooMuch, TooSlow
from fairgear.auditing.exchange.graph_files import (
    check_format,
    graph_path,
    rounding_note,
    write_graph,
)
from fairgear.auditing.exchange.score_files import read_scores
from fairgear.auditing.people import person_ids
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import ParameterError
from fairgear.files import temporary_folder
from fairgear.graph.tables import OriginalColumns
from fairgear.interruption import sigterm_unwinds
from fairgear.metrics.inputs import Floats

# The ending that the other program's libraries expect or add.
_SCORES = {"csv": "scores.csv", "parquet": "scores.parquet", "npz": "scores.npy"}
_LONGEST = 200
# Bytes that a program may print and write: for logs, and for each person.
_ROOM, _EACH = 2**26, 2**10
# Bytes at the end of its complaints in which the last line is looked for.
_TAIL = 2**16


class CommandAdapter(Adapter):
    """A program that is run once for every world.

    Args:
        command: a line such as `Rscript score.R {graph} {scores}`, run without a shell. `{graph}`
            is the path of the world's graph, `{scores}` the file that the program writes; without
            it, scores are read from standard output, as CSV.
        name: the command if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.
        format: of the graph: "csv" or "parquet" with people in the columns of their table, or
            "npz" with the features that fairgear made of them.
        timeout: seconds for one world; then the program and its children are killed.

    What a program may write is bounded too, with room for much more than scores.

    Example:
        >>> import sys
        >>> import fairgear as fg
        >>> from fairgear.auditing import CommandAdapter
        >>> from fairgear.testing import toy_graph
        >>> read = "import sys; _, *rows = open(sys.argv[1] + '/nodes.csv').read().split(); "
        >>> write = "print('node_id,score'); [print(row.split(',')[0] + ',0.7') for row in rows]"
        >>> command = f'{sys.executable} -c "{read + write}" {{graph}}'
        >>> model = CommandAdapter(command, name="constant")
        >>> quick = {"self_people": 0, "affected_people": 0, "other_causal_models": False}
        >>> fg.audit(model, toy_graph(), what_if_people=0, draws=1, **quick).metrics["delta_cf"]
        0.0
    """

    kind = "command"
    kinds = ("binary", "regression")
    costly = True

    def __init__(
        self,
        command: str,
        *,
        name: str | None = None,
        threshold: float | None = None,
        format: str = "csv",
        timeout: float = 300.0,
    ) -> None:
        self.name = name or command
        # Every world starts a process.
        self.default_self_people, self.default_affected_people = 50, 3
        self._set_threshold(threshold)
        self._format = check_format(format)
        self._words = words_of(command)
        if not timeout > 0:
            raise ParameterError("timeout", timeout, "more than 0 seconds", "use 300")
        self._timeout = timeout
        self._original: OriginalColumns | None = None

    def check(self, worlds: Worlds) -> None:
        """Find out which columns the people of these worlds have."""
        self._original = OriginalColumns.of(worlds.graph)
        note = rounding_note(worlds, self._format)
        self._note(*([note] if note else []))

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The scores that the program wrote for `nodes`."""
        rows = nodes.cpu().numpy()
        with sigterm_unwinds(), temporary_folder() as place:
            found = self._run(world, place)
            what = f"scores of {self._where(world)}"
            values = read_scores(found, person_ids(world.graph), rows, what=what)
        return self._checked(world, values, rows)

    def _run(self, world: World, folder: Path) -> Path:
        """The file that holds the scores after a run."""
        graph = graph_path(folder, "graph", self._format)
        write_graph(world.graph, graph, self._format, self._original)
        scores = folder / _SCORES[self._format]
        words = [
            word.replace("{graph}", str(graph)).replace("{scores}", str(scores))
            for word in self._words
        ]
        most = _ROOM + _EACH * len(world.graph.x)
        program = Program(words, folder, self._timeout, most)
        finish(program, self._where(world), f"{len(world.graph.x):,} people", "node_id,score")
        if not any("{scores}" in word for word in self._words):
            return program.stdout
        if not scores.exists():
            allowed = "a program that writes its scores there"
            step = "write node_id,score to that path, or leave {scores} out and print them"
            raise self._refusal(world, "no file where {scores} is", allowed, step)
        return scores


def finish(program: Program, what: str, input_size: str, lines: str) -> None:
    """Run a program to its end; an error where that is no success.

    Args:
        program: what to run.
        what: the model and the world, as errors name them.
        input_size: how much it was given, in words.
        lines: what it is to print or write.
    """
    try:
        status = program.run()
    except NotStarted as error:
        got = f"{program.words[0]!r}: {str(error).lower()}"
        step = "check its name and path, and whether it may be executed"
        raise ParameterError(what, got, "a program that can be run", step) from error
    except TooSlow as error:
        seconds = f"{program.timeout:g} seconds"
        got, allowed = f"no end after {seconds}", f"at most {seconds} a world"
        step = "give it a longer timeout, or make it faster"
        raise ParameterError(what, got, allowed, step) from error
    except TooMuch as error:
        allowed = f"at most {program.most:,} bytes for {input_size}"
        step = f"print or write {lines}, and little else"
        raise ParameterError(what, "more output than that", allowed, step) from error
    if status:
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        last = _last_line(program.stderr)
        got = f"{ended}: {last}" if last else ended
        step = "run the command by hand on one graph"
        raise ParameterError(what, got, "a program that ends with exit status 0", step)


def words_of(command: str) -> list[str]:
    """The words of the line, split as a shell does."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _unfit(f"{str(error).lower()} in {command!r}") from error
    if not any("{graph}" in word for word in words):
        raise _unfit(repr(command))
    return words


def _unfit(got: str) -> ParameterError:
    return ParameterError(
        "command",
        got,
        "a program and its arguments, {graph} among them, and {scores} if it writes a file",
        "write it such as 'python score.py {graph} {scores}'",
    )


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        lines = file.read().decode("utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return last if len(last) <= _LONGEST else f"{last[:_LONGEST]}…"
