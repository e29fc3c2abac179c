"""Who of one's own data is trained on, validated on and tested: as the file or as a split says."""

from __future__ import annotations

from pathlib import Path

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, split
from fairgear.graph.sensitive_graph import MASKS
from fairgear.progress import log
from fairgear.stored_folder import is_stored, read_facts

# The value of the setting `split` that keeps the masks of the file.
GIVEN = "given"
_PARTS = ("training", "validation", "test")


def usual_split(dataset: str, otherwise: str) -> str:
    """The split of a file where nobody names one: its own masks, if it has all three."""
    if is_stored(dataset):
        return GIVEN if read_facts(Path(dataset))["masks"] else otherwise
    if Path(dataset).suffix.lower() != ".pt":
        return otherwise
    from fairgear.graph.reading.pyg_file import has_masks

    return GIVEN if has_masks(Path(dataset)) else otherwise


def split_own(graph: SensitiveGraph, name: str, *, seed: int) -> SensitiveGraph:
    """The graph with the masks that `name` asks for, which leave something to learn and judge."""
    held = [int(graph[key].sum()) for key in MASKS]
    if name == GIVEN:
        graph = _given(graph)
    else:
        if any(held):
            log(f"{graph.name}: the masks of the file are not used; the split is {name}")
        labels = _balanced(graph) if name == "released" else None
        graph = split(graph, name, seed=seed, train_labels=labels)
    _check_parts(graph, name)
    return graph


def balanced_labels(graph: SensitiveGraph) -> int:
    """Training labels of the split `released` for one's own data: half of the smaller class,
    and as many of the other."""
    return 2 * (min(int((graph.y == label).sum()) for label in (0, 1)) // 2)


def _given(graph: SensitiveGraph) -> SensitiveGraph:
    """Only labelled people are of use in a mask; the others are predicted for anyway."""
    masks = {key: graph[key] & (graph.y >= 0) for key in MASKS}
    counts = {key: int(mask.sum()) for key, mask in masks.items()}
    if not all(counts.values()):
        lacking = next(key for key, count in counts.items() if not count)
        raise GraphError(
            "--split given",
            f"a file with no labelled people in {lacking}",
            "a PyG file with train_mask, val_mask and test_mask",
            "draw a split with --split sixty-twenty-twenty",
        )
    without = sum(int(graph[key].sum()) for key in MASKS) - sum(counts.values())
    aside = f"; {without:,} people in them have no label and do not count" if without else ""
    shown = ", ".join(
        f"{count:,} for {part}" for part, count in zip(_PARTS, counts.values(), strict=True)
    )
    log(f"{graph.name}: the split is that of the file's masks: {shown}{aside}")
    return graph.replace(**masks)


def _balanced(graph: SensitiveGraph) -> int:
    labels = balanced_labels(graph)
    if labels < 2:
        counts = {name: int((graph.y == code).sum()) for code, name in _names(graph).items()}
        raise ParameterError(
            "--split released",
            " and ".join(f"{count} people with {name!r}" for name, count in counts.items()),
            "at least 2 people with each label",
            "label more people, or use --split sixty-twenty-twenty",
        )
    return labels


def _check_parts(graph: SensitiveGraph, name: str) -> None:
    """Both classes to learn from and to choose by, said in the words of the table."""
    for key, part in zip(MASKS[:2], _PARTS[:2], strict=True):
        chosen = graph.y[graph[key]]
        lacking = [label for code, label in _names(graph).items() if not (chosen == code).any()]
        if lacking:
            raise GraphError(
                f"{part} people",
                f"{len(chosen)}, of the class {lacking[0]!r} nobody",
                "people of each class",
                "add people with a label to the table"
                + (", or correct the masks" if name == GIVEN else ", or draw with another --seed"),
            )


def _names(graph: SensitiveGraph) -> dict[int, str]:
    return dict(enumerate(graph.get("label_names") or ("0", "1")))
