"""`python -m fairgear.bench`: holds a graph, and measures in children of its own.

Started by `fairgear bench`, once a graph. Requests come as lines of JSON on stdin, and answers go
as lines of JSON to stdout. Each measurement runs in a fork: its memory is that of the graph and
what it adds, whatever was measured before. Nothing here may start threads that outlive a call,
or the forks would wait for threads that they do not have. With a card all is measured in one
process, and the memory that counts is the card's.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from fairgear.bench.cases import MAKERS
from fairgear.bench.config import ON_DEVICE, Bench
from fairgear.bench.graphs import make_graph
from fairgear.bench.limits import measure_limits
from fairgear.bench.measure import memory_of, time_case
from fairgear.bench.pipeline import Emit, run_pipeline
from fairgear.bench.scene import Scene
from fairgear.egos.memory import forget
from fairgear.files import json_ready
from fairgear.progress import quiet

FAILED = "failed, see the lines above"


def main() -> None:
    """Answer until stdin ends."""
    order = json.loads(sys.argv[1])
    plan = Bench(**order["plan"])
    torch.set_num_threads(1)
    # Loads the library for matrices, so that it is not taken for memory of the work.
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    with _only_answers() as answers:
        scene = None
        if order["kind"]:
            graph = make_graph(
                order["kind"],
                order["n"],
                degree=plan.degree,
                features=plan.features,
                seed=plan.seed,
            )
            scene = Scene(graph, plan)
            forget()
        answers({"edges": 0 if scene is None else scene.graph.num_undirected_edges})
        for line in sys.stdin:
            request = json.loads(line)
            if scene is not None and request["case"] != "pipeline":
                # Found once, for all children.
                with quiet():
                    _ = scene.pool
            # A card cannot be used in a fork of a process whose libraries have looked for it.
            answered = _forked if plan.device == "cpu" else _here
            for answer in answered(scene, plan, request):
                answers(answer)


def serve(scene: Scene | None, plan: Bench, request: dict[str, Any], emit: Emit) -> None:
    """Do what one request asks for."""
    name = request["case"]
    if scene is None:
        for row in measure_limits(torch.device(plan.device)):
            emit(row)
        return
    if name == "pipeline":
        run_pipeline(scene, emit)
        return
    device = torch.device(plan.device if name in ON_DEVICE else "cpu")
    with quiet():
        case = MAKERS[name](scene)
        if request["side"] is None:
            for row in time_case(case, plan.repeats, plan.enough, device):
                emit(row | {"memory": case.sides[row["side"]].memory})
        else:
            emit(memory_of(case.sides[request["side"]], device))


@contextmanager
def _only_answers() -> Iterator[Emit]:
    """Where answers go; whatever else is printed goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(row: dict[str, Any]) -> None:
        out.write(json.dumps(json_ready(row)) + "\n")
        out.flush()

    yield answer


def _here(scene: Scene | None, plan: Bench, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answers of this process itself, once it has them all, and how it ended."""
    rows: list[dict[str, Any]] = []
    torch.set_num_threads(plan.threads)
    try:
        serve(scene, plan, request, rows.append)
        end = ""
    except Exception:
        traceback.print_exc()
        end = FAILED
    yield from ({"row": row} for row in rows)
    yield {"end": end}


def _forked(scene: Scene | None, plan: Bench, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answers of a child, as they come, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            torch.set_num_threads(plan.threads)
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:

                def emit(row: dict[str, Any]) -> None:
                    pipe.write(json.dumps(json_ready({"row": row})) + "\n")
                    pipe.flush()

                serve(scene, plan, request, emit)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            # Not sys.exit: what the parent has open is the parent's to close.
            os._exit(status)
    os.close(writing)
    for line in _lines(reading, child):
        yield json.loads(line)
    _, code = os.waitpid(child, 0)
    yield {"end": _ending(code)}


def _lines(reading: int, child: int) -> Iterator[bytes]:
    """What a child writes; the child ends with whoever asked, who is silent while it works."""
    left = b""
    while True:
        ready, _, _ = select.select([reading, sys.stdin], [], [])
        if reading not in ready:
            os.kill(child, signal.SIGKILL)
            os._exit(1)
        part = os.read(reading, 2**16)
        if not part:
            os.close(reading)
            return
        *whole, left = (left + part).split(b"\n")
        yield from whole


def _ending(code: int) -> str:
    """Empty where all went well, else what happened."""
    if os.WIFSIGNALED(code):
        number = os.WTERMSIG(code)
        memory = ", probably for its memory" if number == signal.SIGKILL else ""
        return f"killed by signal {number}{memory}"
    return "" if os.WEXITSTATUS(code) == 0 else FAILED


if __name__ == "__main__":
    main()
