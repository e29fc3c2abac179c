"""The Triton kernels of `fused`; imported only where Triton is.

A block holds some egos, one below the other: ROWS rows of members, GROUP egos of SIZE members
each, the rest empty. What is read of them is again a product: a row for each ego and reader that
is zero at the members of other egos.
"""

# Compiled by Triton, whose language has no types; constants of a kernel are in capitals.
# mypy: ignore-errors

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _hashed(seed, place):
    """32 random bits for each place. Philox would take longer than all the rest of a kernel."""
    bits = place.to(tl.uint32) ^ seed.to(tl.uint32)
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@triton.jit
def _weight(weights, stack, column, width, columns, WIDTH: tl.constexpr):
    place = tl.arange(0, WIDTH)
    return tl.load(
        weights + (stack * columns + column[None, :]) * width + place[:, None],
        mask=(column[None, :] < columns) & (place[:, None] < width),
        other=0.0,
    )


@triton.jit
def _hidden(
    inputs,
    weight,
    seed,
    first,
    last,
    column,
    width,
    columns,
    dropout,
    SIZE: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The members of egos first, first + 1, …; their hidden layer; where it is not zero."""
    row, place = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    there = (row < GROUP * SIZE) & (first * SIZE + row < last * SIZE)
    x = tl.load(
        inputs + (first * SIZE + row[:, None]) * width + place[None, :],
        mask=there[:, None] & (place[None, :] < width),
        other=0.0,
    )
    hidden = tl.dot(x, weight, input_precision=PRECISION)
    kept = hidden > 0
    if dropout > 0:
        draw = _hashed(seed, (first * SIZE + row[:, None]) * columns + column[None, :])
        kept = kept & (draw >= (dropout * 4294967296.0).to(tl.uint32))
    return x, hidden, kept


@triton.jit
def _shares(
    rows,
    first,
    last,
    READERS: tl.constexpr,
    SIZE: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    READS: tl.constexpr,
):
    """With what weight each of the egos' readers reads each row, (READS, ROWS)."""
    read, row = tl.arange(0, READS)[:, None], tl.arange(0, ROWS)[None, :]
    ego = read // READERS
    mine = (row // SIZE == ego) & (ego < GROUP) & (first + ego < last)
    place = (first * READERS + read) * SIZE + row % SIZE
    return tl.load(rows + place, mask=mine, other=0.0)


@triton.jit
def forward(
    inputs,
    weights,
    rows,
    seeds,
    out,
    egos,
    width,
    columns,
    dropout,
    READERS: tl.constexpr,
    SIZE: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    READS: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    REPEATS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """What the readers read, for some egos and some columns."""
    stack = tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    weight = _weight(weights, stack, column, width, columns, WIDTH)
    seed = tl.load(seeds + stack)
    read = tl.arange(0, READS)
    last = (stack + 1) * egos
    for repeat in range(REPEATS):
        first = stack * egos + (tl.program_id(0) * REPEATS + repeat) * GROUP
        if first < last:
            _, hidden, kept = _hidden(
                inputs, weight, seed, first, last, column, width, columns, dropout,
                SIZE, GROUP, ROWS, WIDTH, PRECISION,
            )  # fmt: skip
            hidden = tl.where(kept, hidden / (1.0 - dropout), 0.0)
            shares = _shares(rows, first, last, READERS, SIZE, GROUP, ROWS, READS)
            there = (read < GROUP * READERS) & (first + read // READERS < last)
            tl.store(
                out + (first * READERS + read[:, None]) * columns + column[None, :],
                tl.dot(shares, hidden, input_precision=PRECISION),
                mask=there[:, None] & (column[None, :] < columns),
            )


@triton.jit
def backward(
    inputs,
    weights,
    rows,
    seeds,
    gradients,
    sums,
    egos,
    width,
    columns,
    dropout,
    READERS: tl.constexpr,
    SIZE: tl.constexpr,
    GROUP: tl.constexpr,
    ROWS: tl.constexpr,
    READS: tl.constexpr,
    WIDTH: tl.constexpr,
    COLUMNS: tl.constexpr,
    PARTS: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The gradient of the weights, summed over a part of the egos, for some columns."""
    stack = tl.program_id(2).to(tl.int64)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    weight = _weight(weights, stack, column, width, columns, WIDTH)
    seed = tl.load(seeds + stack)
    read, place = tl.arange(0, READS), tl.arange(0, WIDTH)
    last = (stack + 1) * egos
    total = tl.zeros((COLUMNS, WIDTH), dtype=tl.float32)
    for group in range(tl.program_id(0), tl.cdiv(egos, GROUP), PARTS):
        first = stack * egos + group * GROUP
        x, _, kept = _hidden(
            inputs, weight, seed, first, last, column, width, columns, dropout,
            SIZE, GROUP, ROWS, WIDTH, PRECISION,
        )  # fmt: skip
        shares = _shares(rows, first, last, READERS, SIZE, GROUP, ROWS, READS)
        there = (read < GROUP * READERS) & (first + read // READERS < last)
        gradient = tl.load(
            gradients + (first * READERS + read[:, None]) * columns + column[None, :],
            mask=there[:, None] & (column[None, :] < columns),
            other=0.0,
        )
        moved = tl.dot(tl.trans(shares), gradient, input_precision=PRECISION)
        moved = tl.where(kept, moved / (1.0 - dropout), 0.0)
        total += tl.dot(tl.trans(moved), x, input_precision=PRECISION)
    part = tl.program_id(0).to(tl.int64) * tl.num_programs(2) + stack
    tl.store(
        sums + (part * columns + column[:, None]) * width + place[None, :],
        total,
        mask=(column[:, None] < columns) & (place[None, :] < width),
    )
