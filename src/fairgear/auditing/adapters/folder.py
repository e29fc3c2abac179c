"""Folders of scores: worlds that were exported and scored elsewhere."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.exchange.manifest import WorldEntry, read_manifest
from fairgear.auditing.exchange.score_files import SCORE_ENDINGS, read_scores
from fairgear.auditing.worlds import World, Worlds
from fairgear.errors import FileError
from fairgear.metrics.inputs import Floats


class FolderAdapter(Adapter):
    """Reads scores from a folder that `export_worlds` wrote and that was completed elsewhere.

    Args:
        folder: with manifest.json, and `scores/NAME.csv` (or .parquet, .npy) for every world.
        name: the folder's if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.
    """

    kind = "folder of scores"
    can_repeat = False

    def __init__(
        self, folder: Path | str, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self._folder = Path(folder)
        self.name = name or self._folder.resolve().name
        self._set_threshold(threshold)
        self.manifest = read_manifest(self._folder)
        self._entries = {entry.name: entry for entry in self.manifest.worlds}
        self._ids = self.manifest.ids()
        self.default_self_people = sum(
            entry.protocol == "strict" and entry.intervention.startswith("self ")
            for entry in self.manifest.worlds
        )

    def can_score(self, world: World) -> bool:
        """Whether the world was exported."""
        entry = self._entries.get(world.name)
        return entry is not None and entry.is_of(world)

    def check(self, worlds: Worlds) -> None:
        """Refuse worlds other than the exported ones, and an incomplete folder."""
        differs = self.manifest.differences(worlds)
        if differs:
            raise FileError(
                f"scores in {self._folder}",
                f"scores of worlds with {' and '.join(differs)}",
                "scores of the worlds to audit: the same graph, people in the same order, "
                "causal model, draws, seed and released_share",
                "audit as manifest.json in the folder says, or export these worlds",
            )
        missing = self._missing()
        if missing:
            raise self._incomplete(missing)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The scores written for `nodes`; the world's graph is not built."""
        if not self.can_score(world):
            raise FileError(
                f"scores in {self._folder}",
                f"no world {world.name!r} in its manifest",
                "worlds that were exported",
                "export with the same causal model, draws, seed and people as the audit",
            )
        path = self._scores(self._entries[world.name])
        if path is None:
            raise self._incomplete(self._missing())
        rows = nodes.cpu().numpy()
        values = read_scores(
            path, self._ids, rows, what=f"scores {path}", names=self.manifest.node_names
        )
        return self._checked(world, values, rows)

    def _person(self, world: World, row: int) -> int | str:
        return self.manifest.name_of(row)

    def _scores(self, entry: WorldEntry) -> Path | None:
        """The file with the scores of a world, in any of the formats."""
        usual = self._folder / entry.scores
        forms = (usual.with_suffix(ending) for ending in SCORE_ENDINGS)
        return next((path for path in forms if path.exists()), None)

    def _missing(self) -> list[WorldEntry]:
        return [entry for entry in self.manifest.worlds if self._scores(entry) is None]

    def _incomplete(self, missing: list[WorldEntry]) -> FileError:
        return FileError(
            f"scores in {self._folder}",
            f"{len(missing)} of {len(self.manifest.worlds)} score files missing, "
            f"the first {missing[0].scores}",
            "a score file for every world",
            "score the remaining graphs, as README.txt in the folder says",
        )
