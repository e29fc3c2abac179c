"""A job of several processes: shares, what all of them have afterwards, and one that is lost."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.egos import EgoIndex
from fairgear.errors import FairgearError, FileError, LostRankError
from fairgear.ranks import Ranks, ranks
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
    shares = [Ranks(rank, size).share(total) for rank in range(size)]
    assert (shares[0].start, shares[-1].stop) == (0, total)
    assert all(one.stop == next_.start for one, next_ in pairwise(shares))
    lengths = {share.stop - share.start for share in shares}
    assert min(lengths) >= 0
    assert max(lengths) - min(lengths) <= 1


def test_a_job_of_one_does_everything_itself() -> None:
    job = ranks()
    assert (job, job.first) == (Ranks(0, 1), True)
    rows, marks = torch.randn(4, 2), {1, 2}
    assert job.gathered(rows, 4) is rows
    before = rows.clone()
    job.mean_([rows])
    assert torch.equal(rows, before)
    # What JSON cannot hold passes: nothing is sent.
    assert job.agreed(marks) is marks
    assert job.of_first(lambda: marks) is marks
    assert (job.everywhere(True), job.everywhere(False)) == (True, False)
    job.wait()


def _together(folder: Path) -> dict[str, Any]:
    job = ranks()
    mine = torch.full((2,), float(job.rank)), torch.tensor([[job.rank + 0.25]]).double()
    job.mean_(mine)
    return {
        "gathered": {
            name: job.gathered(rows[job.share(len(rows))], len(rows)).tolist()
            for name, rows in ROWS.items()
        },
        "types": [
            str(job.gathered(rows[job.share(10)], 10).dtype) for rows in list(ROWS.values())[:4]
        ],
        "mean": [part.tolist() for part in mine],
        "agreed": [job.agreed(value if job.first else job.rank) for value in VALUES],
        "of_first": job.of_first(lambda: ["done by", job.rank]),
        "refused": _refused(job),
        "everywhere": [job.everywhere(True), job.everywhere(job.rank != 1), job.everywhere(False)],
        "egos": _egos(folder),
        "checkpoint": _checkpoints(job, folder),
        # Last: one process ends here, and the others go on.
        "lost": "" if job.rank == 1 else _lost(job),
    }


def _refused(job: Ranks) -> list[str]:
    def work() -> None:
        raise FileError(f"file of {job.rank}", got=3, allowed="4", next_step="add one")

    try:
        job.of_first(work)
    except FairgearError as error:
        return [type(error).__name__, str(error)]
    return []


def _egos(folder: Path) -> list[Any]:
    graph, few, none = random_graph(50), torch.tensor([4, 2]), torch.tensor([], dtype=torch.int64)
    found = [
        EgoIndex.build(graph, k=5),
        EgoIndex.build(graph, k=5, nodes=few),
        EgoIndex.build(graph, k=5, nodes=none),
        EgoIndex.build(graph, k=5, steps=10, nodes=few),
    ]
    # Built by all, and then read by all, though one of them had it from the start.
    own = folder / f"cache{ranks().rank}"
    if ranks().rank == 1:
        found[0].save(own / f"{found[0].key}.safetensors")
    found += [EgoIndex.cached(graph, own, k=5), EgoIndex.cached(graph, own, k=5)]
    try:
        EgoIndex.build(graph, nodes=torch.tensor([0, 1, 99]))
    except FairgearError as error:
        refused = str(error)
    return [*(_plain(index) for index in found), refused]


def _plain(index: EgoIndex) -> list[Any]:
    parts = index.ids, index.mask, index.adjacency
    return [*(part.tolist() for part in parts), index.uncertified, index.key]


def _checkpoints(job: Ranks, folder: Path) -> dict[str, Any]:
    shared = Checkpoint(folder / "shared", "key")
    before = shared.read()
    shared.write({"a": torch.ones(2)}, {"next_step": 5 + job.rank})
    job.wait()
    tensors, facts = shared.read() or ({}, {})
    # As on machines that do not share a disk: the others do not see what the first has written.
    own = Checkpoint(folder / f"own{job.rank}", "key")
    own.write({"a": torch.ones(2)}, {"next_step": 5})
    try:
        own.read()
        refused = ""
    except FileError as error:
        refused = str(error)
    # The clocks of processes differ; what they do may not.
    own._written -= 1000.0 * job.rank
    dues = [own.due()]
    own._written -= 1000.0 * (1 - job.rank)
    dues.append(own.due())
    return {
        "before": before,
        "read": [tensors["a"].tolist(), facts["next_step"]],
        "refused": refused,
        "due": dues,
    }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return in_processes(_together, SIZE, tmp_path_factory.mktemp("job"))


def test_all_processes_have_the_rows_of_all(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert answer["gathered"] == {name: rows.tolist() for name, rows in ROWS.items()}
        assert answer["types"] == [f"torch.{name}" for name in list(ROWS)[:4]]


def test_means_and_agreements(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert answer["mean"] == [[1.0, 1.0], [[1.25]]]
        assert answer["agreed"] == VALUES
        assert answer["of_first"] == ["done by", 0]
        assert answer["everywhere"] == [True, False, False]


def test_an_error_of_the_first_is_one_of_all(answers: list[dict[str, Any]]) -> None:
    line = "file of 0: got 3; allowed: 4. Next: add one."
    assert [answer["refused"] for answer in answers] == SIZE * [["FileError", line]]


def test_egos_are_those_of_one_process(answers: list[dict[str, Any]], tmp_path: Path) -> None:
    expected = _egos(tmp_path)
    assert expected[4] == expected[5] == expected[0]
    assert "99" in expected[-1]
    for answer in answers:
        assert answer["egos"] == expected


def test_checkpoints_are_written_once_and_read_by_all_or_none(
    answers: list[dict[str, Any]],
) -> None:
    for answer in answers:
        found = answer["checkpoint"]
        assert found["before"] is None
        # The first has written; its number is 0.
        assert found["read"] == [[1.0, 1.0], 5]
        assert "not the same file in every process" in found["refused"]
        assert found["due"] == [False, True]


def _lost(job: Ranks) -> str:
    try:
        job.mean_([torch.ones(2)])
        job.wait()
    except LostRankError as error:
        return str(error)
    return ""


def test_a_lost_process_is_noticed_by_all_others(answers: list[dict[str, Any]]) -> None:
    for answer in (answers[0], answers[2]):
        assert "goes on from the last checkpoint" in answer["lost"]
