"""The installed package as others see it: a wheel with types, in an environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.packaging.conftest import ROOT, Archives

# What the comments say, mypy must say; `!` begins the part of an error.
PROGRAM = """\
import fairgear as fg

graph = fg.datasets.load("synthetic", seed=0)
reveal_type(graph)  # SensitiveGraph
gear = fg.Gear(dim=8)
reveal_type(gear.fit(graph))  # Gear
reveal_type(gear.predict_proba(graph))  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(gear.embed(graph).shape)  # tuple[Any, ...]
audit = fg.audit(gear, graph)
reveal_type(audit)  # Audit
reveal_type(audit.metrics["delta_cf"])  # float
reveal_type(audit.intervals["delta_cf"].low)  # float
reveal_type(audit.model_card())  # str
reveal_type(fg.load_model("model"))  # Method
reveal_type(fg.causal.for_graph(graph).counterfactual(graph, graph.sens))  # SensitiveGraph
reveal_type(fg.__version__)  # str
fg.Gear(dimension=8)  # !Unexpected keyword argument "dimension" for "Gear"
fg.audit(gear)  # !Missing positional argument "graph" in call to "audit"
gear.fit("people.csv")  # !has incompatible type "str"; expected "SensitiveGraph"
audit.metrics.worst  # !has no attribute "worst"
"""


@pytest.fixture(scope="module")
def outside(archives: Archives, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has the wheel, and all else from ours."""
    folder = tmp_path_factory.mktemp("outside")
    venv.create(folder, symlinks=os.name != "nt")
    scripts = "Scripts" if os.name == "nt" else "bin"
    python = folder / scripts / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    said = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    packages = Path(said.stdout.strip())
    with ZipFile(archives.wheel) as file:
        file.extractall(packages)
    # Not ours as it is installed here: paths in it that lead elsewhere are not followed.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return python


def test_mypy_sees_the_types_of_the_wheel(outside: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    # What other packages say is kept between runs of the tests.
    cache = ROOT / ".pytest_cache" / "mypy-outside"
    options = ["--strict", "--config-file", os.devnull, "--cache-dir", str(cache)]
    command = [sys.executable, "-m", "mypy", *options, "--python-executable", str(outside)]
    done = subprocess.run(
        [*command, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said: dict[int, str] = {}
    for line in done.stdout.splitlines():
        found = re.match(r"program\.py:(\d+): (?:error|note): (.*)", line)
        if found is not None:
            said.setdefault(int(found[1]), found[2])
    for number, line in enumerate(PROGRAM.splitlines(), start=1):
        _, _, expected = line.partition("  # ")
        if not expected:
            assert number not in said, said[number]
        elif expected.startswith("!"):
            assert expected[1:] in said[number]
        else:
            revealed = re.sub(r"[\w.]+\.(?=\w)", "", said[number].split('"')[1])
            assert revealed == expected, number
    assert done.returncode == 1


def test_a_user_runs_the_wheel_and_not_the_checkout(outside: Path, tmp_path: Path) -> None:
    typed = (
        "import fairgear as fg, sys; from fairgear.cli import main; "
        "print(fg.__file__); print(fg.__version__); sys.exit(main(['methods', 'list']))"
    )
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [outside, "-c", typed], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    place, version, *table = done.stdout.splitlines()
    assert Path(place).is_relative_to(outside.parents[1])
    assert version != "unknown"
    assert any("gear-paper" in line for line in table)
