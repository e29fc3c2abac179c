"""`python -m tests.torture.fuzz TARGET --seconds N`: look for bytes that are not answered.

Needs atheris (`pip install -e '.[fuzz]'`). What is found stays in `crashes/TARGET/`, where a test
reads it from then on.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> int:
    """Fuzz until the time is over, or something is found: status 1."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["fairgear"]):
        from tests.torture.fuzz.targets import CRASHES, TARGETS, fuzzed
    parser = argparse.ArgumentParser(prog="python -m tests.torture.fuzz", description=__doc__)
    parser.add_argument("target", choices=list(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    typed = parser.parse_args()
    kept = CRASHES / typed.target.replace(" ", "-")
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        for number, content in enumerate(TARGETS[typed.target][2]):
            Path(corpus, str(number)).write_bytes(content)
        options = [f"-max_total_time={typed.seconds}", f"-artifact_prefix={kept}/", "-max_len=4000"]
        atheris.Setup(
            [sys.argv[0], *options, "-timeout=10", "-rss_limit_mb=4000", corpus],
            fuzzed(typed.target),
        )
        # Ends the process.
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
