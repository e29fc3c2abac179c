"""Every module can be imported where Unix's own modules and functions are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# What is not ours is loaded first: other packages decide for themselves what they need.
_OTHERS = """
import torch, torch_geometric.data, torch_geometric.nn, torch_geometric.utils, numba, pandas
import pyarrow.parquet, scipy.sparse.csgraph, scipy.stats, sklearn.ensemble, sklearn.linear_model
import sklearn.metrics, sklearn.pipeline, joblib, matplotlib.pyplot, networkx, rich.live
import cyclopts.completion.install, safetensors.torch, yaml, jinja2, threadpoolctl
import torch.distributed, multiprocessing.connection, http.client, urllib.request
"""
_HIDE = """
import filelock, importlib, importlib.abc, os, pkgutil, shutil, signal, sys, tempfile

platform = sys.argv[1]
gone = {"resource", "pwd", "grp", "termios", "pty", "tty", "syslog"} | (
    {"fcntl", "posix", "readline"} if platform == "win32" else {"msvcrt", "winreg"}
)
functions = {os: ("sched_getaffinity", "O_TMPFILE", "posix_fadvise")}
if platform == "win32":
    functions[os] += (
        *("fork", "geteuid", "getuid", "getgid", "getpgid", "killpg", "setsid", "mkfifo"),
        *("statvfs", "sysconf", "register_at_fork", "pread"),
        *("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"),
    )
    functions[signal] = (
        *("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "alarm", "setitimer", "pthread_kill"),
    )
    os.O_BINARY = 0


class Gone(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in gone:
            raise ModuleNotFoundError(f"No module named {name!r} on {platform}", name=name)


sys.meta_path.insert(0, Gone())
for name in gone:
    sys.modules.pop(name, None)
for owner, names in functions.items():
    for name in names:
        if hasattr(owner, name):
            delattr(owner, name)
sys.platform = platform
assert not [name for name in sys.modules if name.startswith("fairgear")]
"""
_IMPORT = """
import fairgear
count = 0
for found in pkgutil.walk_packages(fairgear.__path__, "fairgear."):
    if found.name != "fairgear.__main__":
        importlib.import_module(found.name)
        count += 1
assert count > 250
"""
# What takes seconds is loaded once: for each platform there is a fork of that.
_ON_EACH = f"""
import os, sys
{_OTHERS}
for platform in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        sys.argv = ["", platform]
        exec({_HIDE + _IMPORT!r})
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(platform)
"""


def test_every_module_is_imported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ON_EACH, "win32", "darwin"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_files_are_written_without_locks(tmp_path: Path) -> None:
    written = """
from pathlib import Path
from fairgear import files
from fairgear.files import create, discard, hold, new_folder, replacing, temporary_folder
from fairgear.reading import memory
path = Path("file")
create(path, b"one")
with replacing(path) as temporary:
    temporary.write_bytes(b"two")
with new_folder(Path("folder")) as folder:
    (folder / "inside").write_text("three")
with temporary_folder() as folder:
    pass
assert hold(path) and path.read_bytes() == b"two"
assert discard(path) and not path.exists()
assert Path("folder/inside").read_text() == "three" and not folder.exists()
assert not files.LOCKS and memory() == 8 * 2**30
"""
    done = subprocess.run(
        [sys.executable, "-c", _HIDE + written, "win32"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
