"""Micro-batches: a step computes parts of its batch separately and averages their gradients.

The result depends on the number of parts, not on the number of processes that share them, except
for the order of the sums: every part has its own random numbers, and batch norm takes its
statistics within a part. The running statistics become the mean over the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from fairgear import distributed
from fairgear.training.seeding import reseed

Work = Callable[..., dict[str, Tensor]]


def accumulated(
    count: int, modules: Sequence[nn.Module], work: Work, *rows: Tensor
) -> dict[str, Tensor]:
    """Call `work` on each of `count` parts of `rows`; gradients, buffers and terms are averaged.

    Args:
        count: parts of the batch, a multiple of the number of processes.
        modules: have no gradients yet; `work` adds to them.
        work: does forward and backward on some of the rows and returns terms of the loss.
        rows: the batch; each tensor is split the same way.
    """
    if count == 1:
        return work(*rows)
    *seeds, after = torch.randint(2**62, (count + 1,)).tolist()
    parts = list(zip(*(values.tensor_split(count) for values in rows), strict=True))
    # Only the running statistics: averaging buffers that do not change would round them.
    norms = [m for module in modules for m in module.modules() if isinstance(m, _BatchNorm)]
    buffers = [b for norm in norms for b in norm.buffers() if b.is_floating_point()]
    begin = [buffer.clone() for buffer in buffers]
    seen = [n.num_batches_tracked.clone() for n in norms if n.num_batches_tracked is not None]
    sums = [torch.zeros_like(buffer) for buffer in buffers]
    terms: dict[str, Tensor] = {}
    own = range(count)[distributed.share(count)]
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
    # All processes draw the same from here on, whichever parts they computed.
    reseed(after)
    gradients = [p.grad for m in modules for p in m.parameters() if p.grad is not None]
    means = [*gradients, *buffers, *terms.values()]
    for mean in means:
        mean.div_(len(own))
    distributed.all_mean(means)
    return terms
