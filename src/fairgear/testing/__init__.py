"""Contract suites for your own methods and causal models."""

from fairgear.testing.causal_laws import check_causal_model
from fairgear.testing.contract import CONTRACT, check_method
from fairgear.testing.toy_graphs import toy_graph, toy_world
from fairgear.testing.trial import ContractError, Trial

__all__ = [
    "CONTRACT",
    "ContractError",
    "Trial",
    "check_causal_model",
    "check_method",
    "toy_graph",
    "toy_world",
]
