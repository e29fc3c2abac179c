from __future__ import annotations

import pytest

from fairgear import SensitiveGraph
from fairgear.methods import GearPaper
from tests.methods.gear_paper.tiny import tiny


@pytest.fixture(scope="session")
def fitted(dense: SensitiveGraph) -> GearPaper:
    """A model fitted on `dense`; tests must leave it as it is."""
    return tiny(threshold="validation", seed=1).fit(dense)
