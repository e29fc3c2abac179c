"""Wheel and sdist: what is in them, and that one comes from the other."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

from tests.packaging.conftest import ROOT, Archives

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What Git knows of, without asking it: an sdist has no repository.
TREES = ("src", "tests", "benchmarks", "docs", "examples", "packaging")
MADE = [line[1:] for line in (ROOT / ".gitignore").read_text().splitlines() if line[:1] == "/"]


def tree(folder: Path) -> set[str]:
    """The files below a folder that are no traces of running the code."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix()
        for path in found
        if "__pycache__" not in path.parts
        and not path.name.endswith((".pyc", ".lock"))
        and not path.relative_to(ROOT).as_posix().startswith(tuple(MADE))
    }


def test_twine_accepts_both(archives: Archives) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == 2


def test_the_wheel_holds_what_a_user_runs(archives: Archives) -> None:
    with ZipFile(archives.wheel) as file:
        names = set(file.namelist())
        scripts = next(file.read(name) for name in names if name.endswith("entry_points.txt"))
    assert archives.wheel.name.endswith("-py3-none-any.whl")
    about = f"fairgear-{PROJECT['version']}.dist-info"
    meta = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert names == tree(ROOT / "src") | {f"{about}/{name}" for name in meta}
    assert {"fairgear/py.typed", "fairgear/report/templates/page.html.j2"} <= names
    assert b"fairgear = fairgear.cli:main" in scripts


def test_the_sdist_holds_the_sources_and_all_that_tests_read(archives: Archives) -> None:
    top = f"fairgear-{PROJECT['version']}/"
    with tarfile.open(archives.sdist) as file:
        names = {name.removeprefix(top) for name in file.getnames()}
    for folder in TREES:
        wanted = {f"{folder}/{name}" for name in tree(ROOT / folder)}
        assert {name for name in names if name.startswith(f"{folder}/")} == wanted
    rest = {name for name in names if "/" not in name}
    assert rest == {
        *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "PKG-INFO"),
        *("README.md", "constraints.txt", "pyproject.toml", ".dockerignore", ".gitignore"),
    }


def test_the_sources_give_the_same_wheel(archives: Archives, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run(
        [*command, "--outdir", str(tmp_path), str(ROOT)], check=True, capture_output=True
    )
    (direct,) = tmp_path.glob("*.whl")
    with ZipFile(direct) as one, ZipFile(archives.wheel) as other:
        assert {name: one.read(name) for name in one.namelist()} == {
            name: other.read(name) for name in other.namelist()
        }


def test_the_tests_of_the_sdist_run_on_its_own_sources(archives: Archives, tmp_path: Path) -> None:
    with tarfile.open(archives.sdist) as file:
        file.extractall(tmp_path, filter="data")
    (root,) = tmp_path.iterdir()
    where = "import fairgear; print(fairgear.__file__)"
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=root, env=environment, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()).is_relative_to(root)
    chosen = ["tests/test_text.py", "tests/packaging/test_recipes.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_versions_of_python_are_said_alike() -> None:
    said = {line.rsplit(" ", 1)[1] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert said == {"3.11", "3.12", "3.13"}
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert PROJECT["requires-python"] == ">=3.11"
    assert tools["ruff"]["target-version"] == "py311"
