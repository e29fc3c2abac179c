"""Exporting worlds: every graph of an audit, in a folder, for a model that runs elsewhere.

Those who score must not be able to treat the real graph differently: what is handed over has codes
for names, and the key to them stays with the auditor.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairgear.auditing import people
from fairgear.auditing.exchange.graph_files import (
    GraphFormat,
    check_format,
    graph_files,
    graph_path,
    write_graph,
)
from fairgear.auditing.exchange.manifest import (
    MANIFEST,
    Manifest,
    WorldEntry,
    differences,
    read_manifest,
    settled_by,
)
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.documents import sealed
from fairgear.errors import FileError, ParameterError
from fairgear.files import TEMPORARY, create, holding, json_text, remove_leftovers, write_text
from fairgear.graph import SensitiveGraph
from fairgear.graph.tables import OriginalColumns
from fairgear.progress import bar, quiet

# Counterfactual worlds may have more edges than the factual one.
_MARGIN = 1.1
# What is handed over; the key stays beside it.
FOR_SCORING = "for-scoring"
# Letters of a code: no two of millions of worlds have the same.
_CODE = 16
_README = """\
{count} graphs of the same {people} people, for a model to score.

1. Each graph under worlds/ has people ({who}, {columns}) and {kind} edges.
   {layout}
   {values}
2. Score every graph with the same fixed model: do not train it again in between.
3. Write one file a graph, with the graph's name, in the folder scores/:
   scores/{example}.csv, with the first line node_id,score{or_by_name}
   and a line for every node; or .parquet with these two columns; or .npy with one
   score a node in the order of the rows.
4. A score is a probability, or any number that is higher where class 1 is likelier.
   Class 1 is given above 0.5. If it is given above another number, or if scores are
   not probabilities, say so when you return them: the audit of these scores needs
   that number, as --threshold NUMBER.
5. Return the folder scores/ when it has a file for every graph. Nothing else is read.
"""
_LAYOUTS = {
    "csv": "nodes.csv: {who}, {columns}. edges.csv: source, target by node_id, once each.",
    "parquet": "nodes.parquet: {who}, {columns}. edges.parquet: source, target by node_id.",
    "npz": "NAME.npz: x, edge_index (row numbers, both directions), sens, {who}.",
}
# Of tables and of arrays.
_VALUES = {
    "table": "Columns hold what the table holds: words, and numbers in its units.",
    "x": "x holds features as fairgear encodes them: {precision}-precision numbers, exact.",
    "features": "Features are {precision}-precision numbers: read as such, they are exact.",
}
_WEIGHTS = ("Edges have a third column, weight.", "edge_weight has one number a column of it.")


def export_worlds(
    worlds: Worlds,
    folder: Path | str,
    *,
    nodes: Tensor | None = None,
    self_people: int = 50,
    format: str = "csv",
    about: Mapping[str, Any] | None = None,
    extra: Sequence[World] = (),
) -> Manifest:
    """Write every world of an audit to `folder`; an interrupted export resumes.

    `folder/for-scoring` is for those who score. `folder/key.json` tells which world is which, who
    is audited and where the data are: it stays with the auditor, and is all that is read again
    beside the scores.

    Args:
        worlds: of the factual graph; without a causal model, only those that need none.
        folder: new, empty, or begun by the same call.
        nodes: the people to audit; the test nodes if not given.
        self_people: for how many of them to write the world in which they alone are flipped.
        format: "csv", "parquet" or "npz".
        about: JSON data to keep in the key.
        extra: further worlds, such as those of other causal models.

    Example:
        >>> from pathlib import Path
        >>> from fairgear.auditing import Worlds, export_worlds
        >>> from fairgear.testing import toy_graph
        >>> manifest = export_worlds(Worlds(toy_graph(), draws=1), "worlds", self_people=2)
        >>> sorted(path.name for path in Path("worlds").iterdir() if path.name[0] != ".")
        ['for-scoring', 'key.json']
    """
    form = check_format(format)
    if self_people < 0:
        step = "use 50, or 0 to leave these worlds out"
        raise ParameterError("self_people", self_people, "0 or more", step)
    folder = Path(folder)
    rows = people.select(worlds.graph, nodes)
    alone = rows[people.sample(worlds.graph, rows, self_people, worlds.seed)]
    columns = OriginalColumns.of(worlds.graph)

    def made() -> Manifest:
        begun = (folder / MANIFEST).is_file()
        secret = read_manifest(folder).secret if begun else secrets.token_hex(16)
        return _manifest(worlds, rows, alone, form, dict(about or {}), extra, secret)

    if not _begin(folder, manifest := made()):
        # Another command was quicker, and its codes count.
        _begin(folder, manifest := made())
    with holding(folder / MANIFEST):
        remove_leftovers(folder)
        write_text(folder / FOR_SCORING / "README.txt", _readme(worlds.graph, manifest, columns))
        (folder / FOR_SCORING / "scores").mkdir(exist_ok=True)
        _write_worlds(_all_worlds(worlds, alone, extra), folder, form, manifest, columns)
    return manifest


def _all_worlds(worlds: Worlds, alone: Tensor, extra: Sequence[World]) -> Iterator[World]:
    yield worlds.factual
    yield worlds.edgeless
    if worlds.causal_model is not None:
        softened = worlds.protocol == "released"
        yield from [worlds.placebo] if softened else []
        for by_rate in (*([worlds.released] if softened else []), worlds.strict):
            for draws in by_rate.values():
                yield from draws
        yield from worlds.random
        yield from worlds.alone(alone)
    yield from extra


def _manifest(
    worlds: Worlds,
    rows: Tensor,
    alone: Tensor,
    form: GraphFormat,
    about: dict[str, Any],
    extra: Sequence[World],
    secret: str,
) -> Manifest:
    graph = worlds.graph

    def code(world: World) -> str:
        """Whoever knows the graph, the seed and this program still cannot compute it."""
        digest = hmac.digest(secret.encode(), world.name.encode(), "sha256").hex()
        return f"world-{digest[:_CODE]}"

    entries = [
        WorldEntry(
            name=world.name,
            protocol=world.protocol,
            intervention=world.intervention,
            draw=world.draw,
            path=graph_path(Path(FOR_SCORING, "worlds"), code(world), form).as_posix(),
            scores=f"{FOR_SCORING}/scores/{code(world)}.csv",
        )
        for world in _all_worlds(worlds, alone, extra)
    ]
    names = [entry.name for entry in entries]
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        got = f"two that are both called {repeated[0]!r}"
        raise ParameterError("worlds to export", got, "names of their own", "leave one of them out")
    ids = graph.node_id.cpu()
    known = people.person_ids(graph)
    return Manifest(
        secret=secret,
        graph_format=form,
        **settled_by(worlds),
        node_ids=ids.tolist(),
        node_names=known["node_name"].tolist() if "node_name" in known else None,
        audited=ids[rows].tolist(),
        about=about,
        worlds=entries,
    )


def _readme(graph: SensitiveGraph, manifest: Manifest, columns: OriginalColumns) -> str:
    """Instructions for those who score the graphs."""
    named = manifest.node_names is not None
    who = "node_id, node_name" if named else "node_id"
    kind = "directed" if graph.directed else "undirected"
    arrays = manifest.graph_format == "npz"
    held = "sens, features"
    if not arrays:
        rest = "their other columns" if columns.translates else "features"
        held = ", ".join([*(one.name for one in columns.attributes), rest])
    layout = _LAYOUTS[manifest.graph_format].format(who=who, columns=held)
    if graph.directed:
        layout = layout.replace("row numbers, both directions", "row numbers, from, to")
    if graph.edge_weight is not None:
        kind += ", weighted"
        layout += f" {_WEIGHTS[arrays]}"
    values = _VALUES["x" if arrays else "table" if columns.translates else "features"]
    return _README.format(
        kind=kind,
        count=len(manifest.worlds),
        people=len(manifest.node_ids),
        who=who,
        columns=held,
        layout=layout,
        values=values.format(precision="double" if graph.x.dtype == torch.float64 else "single"),
        example=min(Path(entry.scores).stem for entry in manifest.worlds),
        or_by_name=" or node_name,score" if named else "",
    )


def _begin(folder: Path, manifest: Manifest) -> bool:
    """Make the folder ours: new, empty, or begun with the same manifest.

    False where somebody else begins one at the same instant.
    """
    try:
        held = [entry for entry in folder.iterdir() if not entry.name.endswith(TEMPORARY)]
    except FileNotFoundError:
        held = []
    except OSError as error:
        raise _taken(folder, str(error.strerror).lower()) from error
    if folder / MANIFEST in held:
        before = read_manifest(folder)
        if before.secret != manifest.secret:
            return False
        differs = differences(before.to_dict(), manifest.to_dict())
        if differs:
            raise _taken(folder, f"worlds that differ in {' and '.join(differs)}")
        return True
    if held:
        raise _taken(folder, "other files")
    text = json_text(sealed(manifest.to_dict()))
    return create(folder / MANIFEST, text.encode(), private=True)


def _write_worlds(
    worlds: Iterator[World],
    folder: Path,
    form: GraphFormat,
    manifest: Manifest,
    columns: OriginalColumns,
) -> None:
    moment = (folder / MANIFEST).stat().st_mtime_ns
    places = {entry.name: folder / entry.path for entry in manifest.worlds}
    left = {
        name
        for name, path in places.items()
        if not all(file.exists() for file in graph_files(path, form))
    }
    with bar("writing worlds", total=len(places), done=len(places) - len(left)) as progress:
        for world in worlds:
            if world.name in left:
                # Building a world may show a bar too, and there is one line for them.
                with quiet():
                    graph = world.graph
                write_graph(graph, places[world.name], form, columns)
                # The real graph is the first that is written: its time must not tell.
                for path in (*graph_files(places[world.name], form), places[world.name]):
                    os.utime(path, ns=(moment, moment))
                left.discard(world.name)
                progress.advance()
            if world.protocol == "factual":
                _check_room(folder, places[world.name], form, len(left))


def _check_room(folder: Path, first: Path, form: GraphFormat, count: int) -> None:
    """Check that so many more worlds fit on the disk, by the size of the first."""
    size = sum(file.stat().st_size for file in graph_files(first, form))
    needed = size * count * _MARGIN
    free = shutil.disk_usage(folder).free
    if needed > free:
        got = f"{free / 1e9:.3g} GB of free disk"
        allowed = f"{needed / 1e9:.3g} GB for {count} worlds"
        step = "make room, export to another disk, or use fewer self_people or draws"
        raise FileError(f"worlds in {folder}", got, allowed, step)


def _taken(folder: Path, got: str) -> FileError:
    allowed = "a new or empty folder, or one that the same export began"
    step = "choose another folder, or remove that one"
    return FileError(f"export folder {folder}", got, allowed, step)
