"""Systems that refuse to write, or die, at any moment; and a run to meet all of that."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from fairgear.cli import main
from tests.graph.people import friends, people

# Making a temporary file, putting it on the disk, and renaming it or linking to it.
CALLS = ("mkstemp", "fsync", "replace", "link")


def full(*_: object) -> None:
    """What a full disk answers."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def killed(*_: object) -> None:
    """The power is cut."""
    os._exit(9)


class Faults:
    """One call after another goes wrong: each time the first that never did.

    Args:
        fault: what happens in place of the call.
        calls: which of `CALLS` go wrong.
        known: those that went wrong before, as "call name".
    """

    def __init__(
        self,
        fault: Callable[..., None] = full,
        calls: tuple[str, ...] = CALLS,
        known: tuple[str, ...] = (),
    ) -> None:
        self.fault, self.calls, self.known = fault, calls, list(known)
        self.note: Path | None = None

    @contextmanager
    def at_the_next(self) -> Iterator[None]:
        """Inside, the next new call goes wrong, and those after it do not."""
        waiting = True

        def failing(call: str, original: Callable[..., Any]) -> Callable[..., Any]:
            def instead(*args: Any, **named: Any) -> Any:
                nonlocal waiting
                key = f"{call} {_name(call, args)}"
                if waiting and key not in self.known:
                    waiting = False
                    self.known.append(key)
                    if self.note is not None:
                        self.note.write_text(json.dumps(self.known))
                    self.fault()
                return original(*args, **named)

            return instead

        with pytest.MonkeyPatch.context() as patch:
            for call in self.calls:
                place: Any = tempfile if call == "mkstemp" else os
                patch.setattr(place, call, failing(call, getattr(place, call)))
            yield


def _name(call: str, args: tuple[Any, ...]) -> str:
    """Of the file, without what differs from time to time."""
    if call == "mkstemp":
        return f"{args[1]}{args[0]}"
    path = os.readlink(f"/proc/self/fd/{args[0]}") if call == "fsync" else str(args[1])
    return re.sub(r"^(\.[^.]*)\.[a-z0-9_]{8}(?=\.)", r"\1", os.path.basename(path))


def tiny_inputs(folder: Path) -> None:
    """A table of 60 people and their edges."""
    folder.mkdir(parents=True, exist_ok=True)
    few, links = people()[:60], friends()
    few.to_csv(folder / "p.csv", index=False)
    links[links.isin(set(few.id)).all(axis=1)].to_csv(folder / "f.csv", index=False)


def tiny_run(folder: Path, out: Path, seed: int = 0) -> tuple[int, str]:
    """A run on them: its exit status, and what it said on stderr."""
    typed = ["run", str(folder / "p.csv"), "--edges", str(folder / "f.csv")]
    typed += ["--label", "approved", "--sensitive", "sex", "--seed", str(seed), "--device", "cpu"]
    typed += ["--set", "steps=3", "--set", "dim=4", "--quick", "--out", str(out)]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        status = main(typed)
    return status, said.getvalue()


def figures(out: Path) -> dict[str, Any]:
    """The results of a run, without times and places."""
    found: dict[str, Any] = json.loads((out / "audit.json").read_text())
    found.pop("provenance")
    return found
