"""The pytest plugin: pages of models that fail `assert_alike`, and worlds that tests share.

pytest loads it at every start, so nothing heavy is imported before a test uses it.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fairgear.testing import SharedWorlds

_HELP = "Folder for the pages of models that fail assert_alike. [default: in pytest's cache]"
_MARK = "fairgear: audits a model; marks every test that uses fairgear_worlds"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fairgear-pages DIR`."""
    parser.getgroup("fairgear").addoption("--fairgear-pages", metavar="DIR", help=_HELP)


def pytest_configure(config: pytest.Config) -> None:
    """The mark `fairgear`."""
    config.addinivalue_line("markers", _MARK)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with shared worlds before `-m` selects."""
    for item in items:
        if "fairgear_worlds" in getattr(item, "fixturenames", ()):
            item.add_marker("fairgear")


@pytest.fixture(scope="session")
def fairgear_worlds() -> SharedWorlds:
    """Worlds of a graph, made once a session: `assert_alike(model, fairgear_worlds(graph), …)`."""
    from fairgear.testing import SharedWorlds

    return SharedWorlds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where a model failed its bounds: its figures as properties, and its page."""
    alike = sys.modules.get("fairgear.testing.alike")
    error = None if call.excinfo is None else call.excinfo.value
    if alike is None or not isinstance(error, alike.NotAlikeError):
        return (yield)
    item.user_properties.extend(error.audit.metrics.items())
    report = yield
    report.sections.append(("fairgear", _page(item, error)))
    return report


def _page(item: pytest.Item, error: Any) -> str:
    """Write the page, unless the test did; where it is, or why it is not there."""
    if error.page is not None:
        return f"The page: {error.page}"
    given = item.config.getoption("--fairgear-pages")
    cache = getattr(item.config, "cache", None)
    if given is not None:
        folder = Path(given)
    elif cache is not None:
        folder = Path(cache.mkdir("fairgear"))
    else:
        return "--fairgear-pages DIR writes a page."
    digest = hashlib.sha256(item.nodeid.encode()).hexdigest()[:6]
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", item.name)[:80]
    path = folder / f"{name}-{digest}.html"
    try:
        error.save_html(path)
    except Exception as failed:
        # The test has failed for its own reason, which stands above.
        return f"The page could not be written: {failed}"
    return f"The page: {path}"
