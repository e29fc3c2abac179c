"""The published graphs, loaded once: from the files that FAIRGEAR_DATA names, never the network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairgear.datasets import DATASETS, GraphSource
from fairgear.graph import SensitiveGraph


def load_or_skip(name: str) -> SensitiveGraph:
    folder, files = os.environ.get("FAIRGEAR_DATA"), DATASETS[name].files
    if not files:
        return GraphSource(name).load(split=False)
    if not folder:
        pytest.skip("FAIRGEAR_DATA names no folder with the published files")
    missing = [file.path for file in files if not Path(folder, file.path).exists()]
    if missing:
        pytest.skip(f"FAIRGEAR_DATA={folder} holds no {' and no '.join(missing)}")
    return GraphSource(name).load(split=False)


@pytest.fixture(scope="package")
def bail() -> SensitiveGraph:
    return load_or_skip("bail")


@pytest.fixture(scope="package")
def credit() -> SensitiveGraph:
    return load_or_skip("credit")


@pytest.fixture(scope="package")
def german() -> SensitiveGraph:
    return load_or_skip("german")


@pytest.fixture(scope="package")
def nba() -> SensitiveGraph:
    return load_or_skip("nba")


@pytest.fixture(scope="package")
def meps() -> SensitiveGraph:
    return load_or_skip("meps")


@pytest.fixture(scope="package")
def expenses() -> SensitiveGraph:
    return load_or_skip("meps-expenses")


@pytest.fixture(scope="package")
def diabetes() -> SensitiveGraph:
    return load_or_skip("diabetes")


@pytest.fixture(scope="package", params=["bail", "credit", "german", "nba", "meps", "diabetes"])
def published(request: pytest.FixtureRequest) -> SensitiveGraph:
    """Each of them in turn."""
    graph: SensitiveGraph = request.getfixturevalue(request.param)
    return graph
