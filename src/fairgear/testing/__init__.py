"""Contract suites for your own methods and causal models, and bounds on models as tests."""

from fairgear.testing.alike import NotAlikeError, assert_alike
from fairgear.testing.causal_laws import check_causal_model
from fairgear.testing.contract import CONTRACT, check_method
from fairgear.testing.shared_worlds import SharedWorlds
from fairgear.testing.toy_graphs import toy_graph, toy_world
from fairgear.testing.trial import ContractError, Trial

__all__ = [
    "CONTRACT",
    "ContractError",
    "NotAlikeError",
    "SharedWorlds",
    "Trial",
    "assert_alike",
    "check_causal_model",
    "check_method",
    "toy_graph",
    "toy_world",
]
