"""The folder in which `fairgear audit` is tested."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.people import FRIENDS, PEOPLE

# Before it is imported: what its assertions compared is then said where they fail.
pytest.register_assert_rewrite("tests.cli.audits")

from tests.cli.audits import MODELS, PROGRAM  # noqa: E402


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Somebody's folder, with their models and their data; one is in it all the time."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "typed_models.py").write_text(MODELS)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "typed_exit.py").write_text("import sys; sys.exit('usage: f')")
    for path in (PEOPLE, FRIENDS):
        shutil.copy(path, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        yield folder
    sys.modules.pop("typed_models", None)
