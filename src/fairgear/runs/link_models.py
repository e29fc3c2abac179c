"""A user's model of links, and whether it may have been fitted on the pairs it is audited on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairgear.errors import ParameterError
from fairgear.links import GivenLinks, LinkCommand, LinkModel, LinkSplit, load_link_model
from fairgear.links.methods import LinkMethod
from fairgear.links.origin import SplitOrigin
from fairgear.registry import import_object
from fairgear.runs.audit_config import is_scores
from fairgear.runs.link_config import LinkConfig
from fairgear.runs.model_spec import saved_model

UNSEEN = (
    "The AUROC assumes that the model has never seen these links: what it was fitted on is not "
    "known here."
)
ELSEWHERE = (
    "The model was fitted on other edges than this graph's: the AUROC assumes that these links "
    "were not among them."
)


def given_model(config: LinkConfig, split: LinkSplit) -> tuple[Any, tuple[str, ...]]:
    """The model that `config.method` names, and what its AUROC assumes.

    Only one that is a class is trained. One that was fitted on another split of these edges is
    refused: test pairs may be what it learned from.
    """
    text = config.method
    if "{graph}" in text:
        return LinkCommand(text, timeout=config.timeout), ()
    if is_scores(text):
        return GivenLinks(Path(text)), (UNSEEN,)
    saved = saved_model(text)
    if saved is not None:
        model: Any = load_link_model(saved, device=config.device)
        return model, _assumed(model, text, split)
    found = import_object(text, "model of links")
    if isinstance(found, type) and issubclass(found, LinkModel):
        return found().fit(split), ()
    return found, _assumed(found, text, split)


def _assumed(model: Any, text: str, split: LinkSplit) -> tuple[str, ...]:
    fitted = model.origin_ if isinstance(model, LinkMethod) else None
    if fitted is None:
        return (UNSEEN,)
    here = SplitOrigin.of(split)
    if fitted.edges != here.edges:
        return (ELSEWHERE,)
    if fitted.split != here.split:
        raise ParameterError(
            f"the model {text!r}",
            "another split of these links, so that it may have learned from the test pairs",
            "the split that it was fitted on",
            "use the --seed, --time, --train, --val, --test, --negatives and --per-link of its fit",
        )
    return ()
