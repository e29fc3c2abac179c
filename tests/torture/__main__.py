"""`python -m tests.torture`: all trials, or those of some kinds, and a table of how they ended."""

from __future__ import annotations

import os

# Before any library reads them.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402
import random  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from fairgear.progress import bar  # noqa: E402
from tests.torture import rows as kept  # noqa: E402
from tests.torture.engine import chosen, made  # noqa: E402
from tests.torture.kinds import KINDS, WORDS  # noqa: E402
from tests.torture.shared import COMMANDS, Shared  # noqa: E402
from tests.torture.trial import Row  # noqa: E402
from tests.torture.verdicts import FAILED  # noqa: E402

ROOT = Path(__file__).parents[2]
# Trials of each kind in a quick call.
FEW = 4


def main() -> int:
    """Make the trials; status 1 where any fails."""
    typed = _typed()
    begun, before = time.monotonic(), kept.read(typed.out)
    known = {(row.kind, row.trial): row for row in before if row.verdict != FAILED}
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".pytest_cache" / "compiled"))
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        shared = Shared(Path(folder))
        shared.prepare(COMMANDS)
        trials, names = [], set[tuple[str, str]]()
        for kind in typed.classes or KINDS:
            seed = random.Random(f"{typed.seed} {kind}")
            most, listed = KINDS[kind]
            every = list(listed(shared, seed))
            names |= {(kind, trial.name) for trial in every}
            found = chosen(every, FEW if typed.quick else typed.trials or most, seed)
            trials += [(kind, trial) for trial in found if typed.name in trial.name]
        # Those of other calls stay, unless there is no such trial any more.
        found_rows = [row for place, row in known.items() if place in names]
        found_rows += [row for row in before if row.kind not in (typed.classes or KINDS)]
        left = [(kind, trial) for kind, trial in trials if (kind, trial.name) not in known]
        random.Random(typed.seed).shuffle(left)
        with bar("trials", len(trials), done=len(trials) - len(left)) as shown:
            for row in made(left, shared, typed.seed, typed.jobs):
                found_rows.append(row)
                shown.advance(1, {"failed": sum(r.verdict == FAILED for r in found_rows)})
                if row.verdict == FAILED:
                    _say(f"failed: {row.kind}: {row.trial}: {row.said}")
                if len(found_rows) % 20 == 0:
                    kept.write(typed.out, _sorted(found_rows))
    kept.write(typed.out, _sorted(found_rows))
    _say(kept.table(found_rows, WORDS))
    _say(f"{time.monotonic() - begun:.0f} s; rows: {typed.out}")
    return int(any(row.verdict == FAILED for row in found_rows))


def _typed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--classes", nargs="+", choices=list(KINDS), metavar="KIND")
    parser.add_argument("--name", default="", help="trials with this in their names alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, help="at most so many of each kind")
    parser.add_argument("--quick", action="store_true", help=f"at most {FEW} of each kind")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "torture" / "torture.csv")
    return parser.parse_args()


def _sorted(found: list[Row]) -> list[Row]:
    order = list(KINDS)
    return sorted(found, key=lambda row: (order.index(row.kind), row.trial))


def _say(text: str) -> None:
    print(text, file=sys.stderr if text.startswith("failed") else sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
