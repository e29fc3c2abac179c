"""Installations in which nothing can be written except the results, as in many containers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fairgear
from tests.hostile.faults import figures, tiny_inputs, tiny_run

# Everything is read-only, temporary files too, except the folder that is the first argument.
_READ_ONLY = """
mount --make-rprivate / && mount -t tmpfs tmpfs "$1" || exit 99
for place in /dev/shm /tmp /var/tmp "$HOME"; do mount -o remount,bind,ro "$place"; done 2>/dev/null
mount -o remount,bind,ro / || exit 99
shift; cd /; exec "$@"
"""


def _command(inputs: Path, out: Path) -> list[str]:
    typed = f"from pathlib import Path; from tests.hostile.faults import tiny_run;\
        status, said = tiny_run(Path({str(inputs)!r}), Path({str(out)!r}));\
        print(said, status); print((Path({str(out)!r}) / 'audit.json').read_text())"
    return [sys.executable, "-c", typed]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
def test_a_run_where_only_its_folder_can_be_written(tmp_path: Path) -> None:
    inputs, place = tmp_path / "inputs", tmp_path / "place"
    place.mkdir()
    tiny_inputs(inputs)
    roots = [str(Path(fairgear.__file__).parents[1]), str(Path(__file__).parents[2])]
    environment = {**os.environ, "HOME": "/proc/nobody", "FAIRGEAR_CACHE": "/proc/nowhere"}
    environment["PYTHONPATH"] = os.pathsep.join(roots)
    # Compiled functions are read from here, where there are any.
    environment.setdefault("NUMBA_CACHE_DIR", "/proc/nowhere")
    own = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    command = [*own, "sh", "-c", _READ_ONLY, "sh", str(place), *_command(inputs, place / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if ended.returncode == 99 or "unshare" in ended.stderr:
        pytest.skip("file systems cannot be mounted here")
    assert ended.returncode == 0, ended.stderr
    said, results = ended.stdout.split("{", 1)
    assert said.split()[-1] == "0"
    assert "Traceback" not in said + ended.stderr
    assert tiny_run(inputs, tmp_path / "usual")[0] == 0
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "audit.json").write_text("{" + results)
    assert figures(tmp_path / "there") == figures(tmp_path / "usual")
