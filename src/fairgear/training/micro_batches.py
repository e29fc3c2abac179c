"""A step in parts: each part of the batch by itself, on whichever process, then the mean.

What a step does hangs on the number of its parts, not on the number of processes that share
them, but for the order in which the parts are added: every part has its own random numbers, and
batch norm takes its statistics within a part. The running statistics become the mean of what each
part would have made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from fairgear.errors import ParameterError
from fairgear.ranks import Ranks, ranks
from fairgear.training.seeding import reseed

Work = Callable[..., dict[str, Tensor]]


def check_divides(count: int, job: Ranks) -> None:
    """A job's processes share the parts of a step evenly, or not at all."""
    if count % job.size:
        raise ParameterError(
            "micro_batches",
            f"{count} for {job.size} processes",
            f"a multiple of {job.size}",
            f"use {job.size}, or another number of processes",
        )


def accumulated(
    count: int, modules: Sequence[nn.Module], work: Work, *rows: Tensor
) -> dict[str, Tensor]:
    """Call `work` on each of `count` parts of `rows`; gradients, buffers and terms are means.

    Args:
        count: parts of the batch.
        modules: whose gradients `work` adds to, from none.
        work: does forward and backward on some of the rows and returns terms of the loss.
        rows: the batch; each is divided alike.
    """
    job = ranks()
    check_divides(count, job)
    if count == 1:
        return work(*rows)
    *seeds, after = torch.randint(2**62, (count + 1,)).tolist()
    parts = list(zip(*(values.tensor_split(count) for values in rows), strict=True))
    # The running statistics; other buffers do not change, and means of equals would move them.
    norms = [m for module in modules for m in module.modules() if isinstance(m, _BatchNorm)]
    buffers = [b for norm in norms for b in norm.buffers() if b.is_floating_point()]
    begin = [buffer.clone() for buffer in buffers]
    seen = [n.num_batches_tracked.clone() for n in norms if n.num_batches_tracked is not None]
    sums = [torch.zeros_like(buffer) for buffer in buffers]
    terms: dict[str, Tensor] = {}
    own = range(count)[job.share(count)]
    for number in own:
        for buffer, before in zip(buffers, begin, strict=True):
            buffer.copy_(before)
        reseed(seeds[number])
        for name, value in work(*parts[number]).items():
            terms[name] = terms.get(name, torch.zeros_like(value)) + value
        for total, buffer in zip(sums, buffers, strict=True):
            total += buffer
    for buffer, total in zip(buffers, sums, strict=True):
        buffer.copy_(total)
    for norm, before in zip(norms, seen, strict=True):
        assert norm.num_batches_tracked is not None
        norm.num_batches_tracked.copy_(before + 1)
    # Whichever parts were here, what follows draws the same in all processes.
    reseed(after)
    gradients = [p.grad for m in modules for p in m.parameters() if p.grad is not None]
    means = [*gradients, *buffers, *terms.values()]
    for mean in means:
        mean.div_(len(own))
    job.mean_(means)
    return terms
