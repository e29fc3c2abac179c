"""CITATION.cff, the conda recipe and the container file say what pyproject.toml says."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

from fairgear.text import visible
from tests.packaging.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# What conda-forge calls otherwise.
CONDA = {
    "torch": "pytorch",
    "torch-geometric": "pytorch_geometric",
    "matplotlib": "matplotlib-base",
    "PyYAML": "pyyaml",
}


def test_the_citation_names_what_the_paper_says_of_itself() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= cited.keys()
    assert cited["authors"] == [{"name": "The fairgear maintainers"}]
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    assert cited["keywords"] == PROJECT["keywords"]
    (paper,) = cited["references"]
    names = [f"{one['given-names']} {one['family-names']}" for one in paper["authors"]]
    assert names == [
        *("Jing Ma", "Ruocheng Guo", "Mengting Wan", "Longqi Yang", "Aidong Zhang"),
        "Jundong Li",
    ]
    assert paper["doi"] == "10.1145/3488560.3498391"
    assert paper["title"] in " ".join((ROOT / "README.md").read_text().split())
    assert paper["year"] == 2022
    assert "WSDM" in paper["collection-title"]


def test_the_conda_recipe_asks_for_the_same_packages() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    wanted = [re.split(r"(?=[<>=])", line, maxsplit=1) for line in PROJECT["dependencies"]]
    run = [f"{CONDA.get(name, name)} {bound}" for name, bound in wanted]
    assert recipe["requirements"]["run"] == [f"python {PROJECT['requires-python']}", *run]
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert [line.replace(" ", "") for line in recipe["requirements"]["host"][2:]] == built
    assert recipe["context"]["version"] == PROJECT["version"]
    assert recipe["about"]["license"] == PROJECT["license"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert dict([entry.split(" = ")]) == PROJECT["scripts"]


def instructions() -> Iterator[tuple[str, str]]:
    """Those of the container file, one line each."""
    text = (ROOT / "packaging" / "Containerfile").read_text()
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for line in kept.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, " ".join(rest.split())


def test_the_container_runs_as_nobody_in_particular() -> None:
    found = list(instructions())
    known = ["ARG", "COPY", "ENTRYPOINT", "ENV", "FROM", "RUN", "USER", "VOLUME", "WORKDIR"]
    assert {name for name, _ in found} == set(known)
    bases = [rest.split()[0] for name, rest in found if name == "FROM"]
    minor = {base.removeprefix("python:").removesuffix("-slim") for base in bases}
    assert len(minor) == 1
    assert f"Programming Language :: Python :: {minor.pop()}" in PROJECT["classifiers"]
    last = dict(found)
    assert int(last["USER"]) > 0
    assert json.loads(last["ENTRYPOINT"]) == ["fairgear"] == list(PROJECT["scripts"])
    # Whatever is written is on a volume or among temporary files: the root may be read-only.
    variables = dict(word.split("=", 1) for word in shlex.split(last["ENV"]))
    assert variables["FAIRGEAR_CACHE"] == last["VOLUME"]
    assert variables["HOME"] == "/tmp"
    assert variables["MPLCONFIGDIR"].startswith("/tmp/")


def test_the_container_is_built_from_what_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    sent = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    copied: list[str] = []
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            copied += rest.split()[:-1]
    assert copied
    for path in copied:
        assert (ROOT / path).exists()
        assert any(fnmatch.fnmatch(path.removeprefix("./"), one) for one in sent), path
    install = next(rest for name, rest in instructions() if name == "RUN" and "pip" in rest)
    assert install.split()[-3:] == ["-c", "constraints.txt", "."]
    # The build needs these besides the code.
    assert {PROJECT["readme"], *PROJECT["license-files"]} <= set(copied)


def test_versions_that_are_pinned_satisfy_what_is_asked_for() -> None:
    from packaging.requirements import Requirement

    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    assert lines == sorted(lines, key=str.lower)
    pinned = dict(line.split("==") for line in lines)
    by_name = {re.sub(r"[-_.]+", "-", name).lower(): found for name, found in pinned.items()}
    asked: list[Any] = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    for line in asked:
        one = Requirement(line)
        if one.name == "fairgear":
            continue
        found = by_name.get(re.sub(r"[-_.]+", "-", one.name).lower())
        assert found is not None, visible(line)
        assert one.specifier.contains(found, prereleases=True), line
