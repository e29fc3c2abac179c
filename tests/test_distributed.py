"""A job of several processes: shares, what all of them have afterwards, and one that is lost."""

from __future__ import annotations

import math
import shutil
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st

from fairgear import distributed
from fairgear.distributed import (
    all_gather,
    all_mean,
    all_true,
    barrier,
    broadcast,
    on_rank0,
    rank,
    share,
    size,
)
from fairgear.egos import EgoIndex, sharded
from fairgear.errors import FairgearError, FileError, LostRankError
from fairgear.training import Checkpoint
from tests.graphs import random_graph
from tests.processes import in_processes

SIZE = 3
ROWS = {
    "bool": torch.arange(10) % 3 == 0,
    "int32": torch.arange(10, dtype=torch.int32),
    "int64": 2**40 + torch.arange(20).view(10, 2),
    "float32": torch.linspace(-1, 1, 30).view(10, 3),
    "fewer than processes": torch.tensor([7, 8]),
    "none": torch.zeros(0, 4),
}
VALUES: list[Any] = [True, None, 3, "wörter", 0.1, math.inf, {"a": [1, {"b": None}]}, "x" * 10**5]


@given(size=st.integers(1, 40), total=st.integers(0, 10**12))
def test_shares_partition_the_whole_and_differ_by_one_at_most(size: int, total: int) -> None:
    shares = [distributed._share(number, size, total) for number in range(size)]
    assert (shares[0].start, shares[-1].stop) == (0, total)
    assert all(one.stop == next_.start for one, next_ in pairwise(shares))
    lengths = {share.stop - share.start for share in shares}
    assert min(lengths) >= 0
    assert max(lengths) - min(lengths) <= 1


def test_a_job_of_one_does_everything_itself() -> None:
    assert (rank(), size(), share(7)) == (0, 1, slice(0, 7))
    rows, marks = torch.randn(4, 2), {1, 2}
    assert all_gather(rows, 4) is rows
    before = rows.clone()
    all_mean([rows])
    assert torch.equal(rows, before)
    # What JSON cannot hold passes: nothing is sent.
    assert broadcast(marks) is marks
    assert on_rank0(lambda: marks) is marks
    assert (all_true(True), all_true(False)) == (True, False)
    barrier()


def _together(folder: Path) -> dict[str, Any]:
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    mine = torch.full((2,), float(rank())), torch.tensor([[rank() + 0.25]]).double()
    all_mean(mine)
    return {
        "gathered": {
            name: all_gather(rows[share(len(rows))], len(rows)).tolist()
            for name, rows in ROWS.items()
        },
        "types": [str(all_gather(rows[share(10)], 10).dtype) for rows in list(ROWS.values())[:4]],
        "mean": [part.tolist() for part in mine],
        "broadcast": [broadcast(value if rank() == 0 else rank()) for value in VALUES],
        "on_rank0": on_rank0(lambda: ["done by", rank()]),
        "refused": _refused(),
        "all_true": [all_true(True), all_true(rank() != 1), all_true(False)],
        "egos": _egos(folder),
        "checkpoint": _checkpoints(folder),
        # Last: one process ends here, and the others go on.
        "lost": "" if rank() == 1 else _lost(),
    }


def _refused() -> list[str]:
    def work() -> None:
        raise FileError(f"file of {rank()}", got=3, allowed="4", next_step="add one")

    try:
        on_rank0(work)
    except FairgearError as error:
        return [type(error).__name__, str(error)]
    return []


def _egos(folder: Path) -> list[Any]:
    graph, few, none = random_graph(50), torch.tensor([4, 2]), torch.tensor([], dtype=torch.int64)
    found = [
        EgoIndex.build(graph, k=5),
        EgoIndex.build(graph, k=5, nodes=few),
        EgoIndex.build(graph, k=5, nodes=none),
        EgoIndex.build(graph, k=5, precision="close", nodes=few),
    ]
    # Built by all, and then read by all, though one of them had it from the start.
    first, own = folder / f"first{rank()}", folder / f"cache{rank()}"
    found.append(sharded(graph, first, k=5))
    if rank() == 1:
        shutil.copytree(first, own)
    found += [sharded(graph, own, k=5), sharded(graph, own, k=5)]
    try:
        EgoIndex.build(graph, nodes=torch.tensor([0, 1, 99]))
    except FairgearError as error:
        refused = str(error)
    return [*(_plain(index) for index in found), refused]


def _plain(index: EgoIndex) -> list[Any]:
    parts = index.ids, index.mask, index.adjacency
    return [*(part.tolist() for part in parts), index.uncertified, index.key]


def _checkpoints(folder: Path) -> dict[str, Any]:
    shared = Checkpoint(folder / "shared", "key")
    before = shared.read()
    shared.write({"a": torch.ones(2)}, {"next_step": 5 + rank()})
    barrier()
    tensors, facts = shared.read() or ({}, {})
    # As on machines that do not share a disk: the others do not see what the first has written.
    own = Checkpoint(folder / f"own{rank()}", "key")
    own.write({"a": torch.ones(2)}, {"next_step": 5})
    try:
        own.read()
        refused = ""
    except FileError as error:
        refused = str(error)
    # The clocks of processes differ; what they do may not.
    own._written -= 1000.0 * rank()
    dues = [own.due()]
    own._written -= 1000.0 * (1 - rank())
    dues.append(own.due())
    return {
        "before": before,
        "read": [tensors["a"].tolist(), facts["next_step"]],
        "refused": refused,
        "due": dues,
    }


def _lost() -> str:
    try:
        all_mean([torch.ones(2)])
        barrier()
    except LostRankError as error:
        return str(error)
    return ""


# One test, since the processes take time to start.
def test_all_processes_end_with_the_same_and_notice_one_that_is_lost(tmp_path: Path) -> None:
    answers = in_processes(_together, SIZE, tmp_path)
    line = "file of 0: got 3; allowed: 4. Next: add one."
    egos = _egos(tmp_path / "alone")
    assert egos[4] == egos[5] == egos[6] == egos[0]
    assert "99" in egos[-1]
    for answer in answers:
        assert answer["gathered"] == {name: rows.tolist() for name, rows in ROWS.items()}
        assert answer["types"] == [f"torch.{name}" for name in list(ROWS)[:4]]
        assert answer["mean"] == [[1.0, 1.0], [[1.25]]]
        assert answer["broadcast"] == VALUES
        assert answer["on_rank0"] == ["done by", 0]
        assert answer["all_true"] == [True, False, False]
        assert answer["refused"] == ["FileError", line]
        assert answer["egos"] == egos
        checkpoint = answer["checkpoint"]
        assert checkpoint["before"] is None
        # Rank 0 has written.
        assert checkpoint["read"] == [[1.0, 1.0], 5]
        assert "not the same file in every process" in checkpoint["refused"]
        assert checkpoint["due"] == [False, True]
    for answer in (answers[0], answers[2]):
        assert "continues from the last checkpoint" in answer["lost"]
