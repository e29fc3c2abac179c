"""Folders of scores: worlds that were exported and scored elsewhere."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.exchange.graph_files import check_format, rounding_note
from fairgear.auditing.exchange.manifest import WorldEntry, differences, read_manifest, settled_by
from fairgear.auditing.exchange.score_files import SCORE_ENDINGS, read_scores
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FileError
from fairgear.metrics.inputs import Floats


class FolderAdapter(Adapter):
    """Reads scores from a folder that `export_worlds` wrote and that was completed elsewhere.

    Of what came back, score files alone are read: what they are scores of, and who is audited,
    stands in the key that the auditor kept.

    Args:
        folder: with key.json, and `for-scoring/scores/CODE.csv` (or .parquet, .npy) for every
            world.
        name: the folder's if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.

    Example:
        >>> from pathlib import Path
        >>> from fairgear.auditing import FolderAdapter, Worlds, export_worlds
        >>> from fairgear.testing import toy_graph
        >>> manifest = export_worlds(Worlds(toy_graph(), draws=1), "worlds", self_people=0)
        >>> sorted(path.name for path in Path("worlds/for-scoring").iterdir())
        ['README.txt', 'scores', 'worlds']
        >>> FolderAdapter("worlds").kind
        'folder of scores'
    """

    kind = "folder of scores"
    kinds = ("binary", "regression")
    can_repeat = False
    costly = True

    def __init__(
        self, folder: Path | str, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self._folder = Path(folder)
        self.name = name or self._folder.resolve().name
        self._set_threshold(threshold)
        self.manifest = read_manifest(self._folder)
        self._entries = {entry.name: entry for entry in self.manifest.worlds}
        known = {"node_id": self.manifest.node_ids, "node_name": self.manifest.node_names}
        self._people = pd.DataFrame({key: people for key, people in known.items() if people})
        self.default_self_people = sum(
            entry.protocol == "strict" and entry.intervention.startswith("self ")
            for entry in self.manifest.worlds
        )

    def can_score(self, world: World) -> bool:
        """Whether the world was exported."""
        entry = self._entries.get(world.name)
        question = (world.protocol, world.intervention, world.draw)
        return entry is not None and question == (entry.protocol, entry.intervention, entry.draw)

    def check(self, worlds: Worlds) -> None:
        """Refuse worlds other than the exported ones, and an incomplete folder."""
        differs = differences(self.manifest.to_dict(), settled_by(worlds))
        if differs:
            got = f"scores of worlds that differ in {' and '.join(differs)}"
            allowed = (
                "scores of the worlds to audit: the same graph, people in the same order, causal "
                "model, draws, seed and released_share"
            )
            step = "audit as key.json in the folder says, or export these worlds"
            raise self._error(got, allowed, step)
        if not all(map(self._scores, self.manifest.worlds)):
            raise self._incomplete()
        note = rounding_note(worlds, check_format(self.manifest.graph_format))
        self._note(*([note] if note else []))

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The scores written for `nodes`; the world's graph is not built."""
        if not self.can_score(world):
            got = f"no world {world.name!r} in its key"
            step = "export with the same causal model, draws, seed and people as the audit"
            raise self._error(got, "worlds that were exported", step)
        path = self._scores(self._entries[world.name])
        if path is None:
            raise self._incomplete()
        rows = nodes.cpu().numpy()
        values = read_scores(path, self._people, rows, what=f"scores {path}")
        return self._checked(world, values, rows)

    def _person(self, world: World, row: int) -> int | str:
        # Those of the manifest: the world's graph is not built.
        names: list[int | str] = self._people.iloc[:, -1].tolist()
        return names[row]

    def _scores(self, entry: WorldEntry) -> Path | None:
        """The file with the scores of a world, in any of the formats."""
        paths = ((self._folder / entry.scores).with_suffix(end) for end in SCORE_ENDINGS)
        return next((path for path in paths if path.exists()), None)

    def _incomplete(self) -> FileError:
        missing = [entry for entry in self.manifest.worlds if self._scores(entry) is None]
        count = f"{len(missing)} of {len(self.manifest.worlds)} score files missing"
        got = f"{count}, the first {missing[0].scores}"
        step = "score the remaining graphs, as README.txt beside them says"
        return self._error(got, "a score file for every world", step)

    def _error(self, got: str, allowed: str, next_step: str) -> FileError:
        return FileError(f"scores in {self._folder}", got, allowed, next_step)
