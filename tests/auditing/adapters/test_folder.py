from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import audit, people
from fairgear.auditing.adapters import FolderAdapter, adapt
from fairgear.auditing.exchange import export_worlds, read_manifest
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel, FittedCausalModel
from fairgear.errors import FairgearError, FileError

NODES = torch.arange(10, 40)
SOME = torch.tensor([12, 10, 39])
Score = Callable[[SensitiveGraph], torch.Tensor]


def share(graph: SensitiveGraph) -> torch.Tensor:
    return torch.sigmoid(graph.x.double().sum(dim=1) + graph.sens)


def exported(worlds: Worlds, folder: Path, score: Score = share, form: str = "csv") -> None:
    """A folder as it comes back: each world's graph read and scored by somebody else."""
    manifest = export_worlds(worlds, folder, nodes=NODES, self_people=3, format="npz")
    for entry in manifest.worlds:
        with np.load(folder / entry.path) as found:
            known = [key for key in found if key != "node_name"]
            fields: dict[str, Any] = {key: torch.from_numpy(found[key]) for key in known}
        graph = SensitiveGraph(**fields)
        scores = score(graph).numpy()
        place = (folder / entry.scores).with_suffix(f".{form}")
        table = pd.DataFrame({"node_id": graph.node_id.numpy(), "score": scores})[::-1]
        if form == "npy":
            np.save(place, scores)
        elif form == "parquet":
            table.to_parquet(place)
        else:
            table.to_csv(place, index=False)


def place_of(folder: Path, world: str) -> Path:
    """The file with the scores of a world."""
    entries = {entry.name: entry for entry in read_manifest(folder).worlds}
    return folder / entries[world].scores


def unmade(world: World) -> World:
    """The same question, whose graph nobody may ask for."""

    def refuse() -> SensitiveGraph:
        raise AssertionError("the graph was made")

    return replace(world, make=refuse)


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_scores_are_those_of_the_model_itself(worlds: Worlds, tmp_path: Path, form: str) -> None:
    exported(worlds, tmp_path, form=form)
    adapter, direct = FolderAdapter(tmp_path), adapt(share)
    adapter.check(worlds)
    alone = NODES[people.sample(worlds.graph, NODES, 3, worlds.seed)]
    asked = [worlds.factual, worlds.edgeless, worlds.placebo, worlds.released[0.5][0]]
    asked += [worlds.strict[1.0][0], worlds.random[0], *worlds.alone(alone)]
    for world in asked:
        assert adapter.can_score(world)
        np.testing.assert_array_equal(
            adapter.scores(unmade(world), SOME), direct.scores(world, SOME)
        )
    assert adapter.kind == "folder of scores"
    assert (adapter.name, adapter.default_self_people) == (tmp_path.name, 3)
    assert not adapter.can_repeat
    assert adapter.manifest.audited == NODES.tolist()


def test_worlds_that_nobody_exported(worlds: Worlds, tmp_path: Path) -> None:
    exported(worlds, tmp_path)
    adapter = FolderAdapter(tmp_path)
    strange = unmade(replace(worlds.factual, protocol="shift"))
    alike = unmade(replace(worlds.factual, protocol="Factual ", draw=0))
    assert not adapter.can_score(strange)
    assert not adapter.can_score(alike)
    with pytest.raises(FileError) as caught:
        adapter.scores(strange, SOME)
    assert str(caught.value) == (
        f"scores in {tmp_path}: got no world 'shift-unchanged-draw-0' in its key; allowed: "
        "worlds that were exported. Next: export with the same causal model, draws, seed and "
        "people as the audit."
    )


def test_missing_scores(worlds: Worlds, tmp_path: Path) -> None:
    exported(worlds, tmp_path)
    adapter = FolderAdapter(tmp_path)
    count = len(adapter.manifest.worlds)
    for name in ("strict-rate-1-draw-0", "placebo-unchanged-draw-0"):
        place_of(tmp_path, name).unlink()
    # What is there can be asked for; the whole is not complete.
    adapter.scores(worlds.factual, SOME)
    first = place_of(tmp_path, "placebo-unchanged-draw-0").relative_to(tmp_path)
    for ask in (
        lambda: adapter.check(worlds),
        lambda: adapter.scores(worlds.strict[1.0][0], SOME),
    ):
        with pytest.raises(FileError) as caught:
            ask()
        assert str(caught.value) == (
            f"scores in {tmp_path}: got 2 of {count} score files missing, the first "
            f"{first}; allowed: a score file for every world. Next: score the remaining graphs, "
            "as README.txt beside them says."
        )


def others(graph: SensitiveGraph, model: CausalModel) -> dict[str, Worlds]:
    """Worlds that are not those of `graph` and `model`, by what differs."""
    edgeless = graph.replace(edge_index=graph.edge_index[:, :0])
    moved = graph.replace(x=torch.cat([graph.x[:, :1], graph.x[:, 1:] * 2], dim=1))
    return {
        "graph": Worlds(edgeless, model, draws=1, protocol="released"),
        "graph and features": Worlds(
            graph.permute(torch.arange(60).flip(0)), model, draws=1, protocol="released"
        ),
        "features": Worlds(moved, model, draws=1, protocol="released"),
        "causal model": Worlds(graph, FittedCausalModel().fit(graph), draws=1, protocol="released"),
        "draws": Worlds(graph, draws=2, protocol="released"),
        "seed": Worlds(graph, draws=1, seed=1, protocol="released"),
        "protocol": Worlds(graph, draws=1),
        "draws and seed": Worlds(edgeless, model, draws=2, seed=1, protocol="released"),
        "released share": Worlds(graph, draws=1, protocol="released", released_share=0.5),
        "labels or split": Worlds(
            graph.replace(y=1 - graph.y), model, draws=1, protocol="released"
        ),
    }


def test_other_worlds(worlds: Worlds, tmp_path: Path) -> None:
    exported(worlds, tmp_path)
    adapter = FolderAdapter(tmp_path)
    for difference, made in others(worlds.graph, worlds.known_model()).items():
        with pytest.raises(FileError) as caught:
            adapter.check(made)
        assert str(caught.value) == (
            f"scores in {tmp_path}: got scores of worlds that differ in {difference}; allowed: "
            "scores of the worlds to audit: the same graph, people in the same order, causal "
            "model, draws, seed and released_share. Next: audit as key.json in the folder "
            "says, or export these worlds."
        )


def test_an_audit_of_other_worlds_is_refused(worlds: Worlds, tmp_path: Path) -> None:
    exported(worlds, tmp_path)
    with pytest.raises(FileError, match="scores of worlds that differ in seed"):
        audit(FolderAdapter(tmp_path), Worlds(worlds.graph, draws=1, seed=1), nodes=NODES)


def test_people_by_name(worlds: Worlds, tmp_path: Path) -> None:
    graph = worlds.graph.replace()
    graph["node_names"] = tuple(f"Ann, the {i}th" for i in range(60))
    named = Worlds(graph, draws=1)
    exported(named, tmp_path)
    adapter = FolderAdapter(tmp_path, name="mine")
    expected = adapter.scores(unmade(named.factual), SOME)
    path = place_of(tmp_path, "factual-unchanged-draw-0")
    table = pd.read_csv(path)
    table["node_name"] = [graph["node_names"][i] for i in table.pop("node_id")]
    table.to_csv(path, index=False)
    np.testing.assert_array_equal(adapter.scores(unmade(named.factual), SOME), expected)
    table.loc[table["node_name"] == "Ann, the 10th", "score"] = np.nan
    table.to_csv(path, index=False)
    with pytest.raises(FairgearError) as caught:
        adapter.scores(unmade(named.factual), SOME)
    assert str(caught.value).startswith(
        "the model 'mine' in the world 'factual-unchanged-draw-0': got 1 NaN or infinite scores, "
        "the first of node 'Ann, the 10th';"
    )


def test_scores_are_checked_like_all_others(worlds: Worlds, tmp_path: Path) -> None:
    exported(worlds, tmp_path, lambda graph: graph.x.double().sum(dim=1) * 9)
    with pytest.raises(
        FairgearError,
        match=r"Next: pass a threshold, such as 0 for logits, or keep them within 0 and 1\.$",
    ):
        FolderAdapter(tmp_path).scores(worlds.factual, NODES)
    adapter = FolderAdapter(tmp_path, name="mine", threshold=0)
    assert adapter.scores(worlds.factual, NODES).min() < 0
    path = place_of(tmp_path, "factual-unchanged-draw-0")
    path.write_text("node_id,score\n12,0.5\n12,0.5\n")
    with pytest.raises(FileError) as caught:
        adapter.scores(worlds.factual, SOME)
    assert str(caught.value).startswith(f"scores {path}: got 1 repeated nodes, the first 12;")
    path.write_text("node_id,score\n10,0.5\n12,nan\n39,0.5\n")
    with pytest.raises(FairgearError) as other:
        adapter.scores(worlds.factual, SOME)
    assert str(other.value).startswith(
        "the model 'mine' in the world 'factual-unchanged-draw-0': got 1 NaN or infinite scores, "
        "the first of node 12;"
    )


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"got no key\.json of exported worlds in it"):
        FolderAdapter(tmp_path / "nowhere")
