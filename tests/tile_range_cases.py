"""Kernels that gather and scatter contiguous ranges, and kernels that seem to."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edit_emulation import numbers
from emulated_edits import kernel


@dataclass(frozen=True)
class Case:
    """A kernel, one launch of it, and what the edited kernel must contain, or the reason of its refusal."""

    source: str
    grid: tuple[int, ...]
    values: tuple[Any, ...]
    contains: tuple[str, ...]


def ones(*shape):
    return np.full(shape, -1, np.float32)


PLANE = """
rows = ct.bid(0) * R + ct.arange(R, dtype=ct.int32)
columns = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
ct.scatter(y, (rows[:, None], columns[None, :]), -ct.gather(x, (ct.expand_dims(rows, 1), columns[None, :])))
"""
COUNTED = """
row = ct.bid(0)
tiles = (n + T - 1) // T
for j in range(tiles):
    columns = ct.full((T,), j * T, dtype=ct.int32) + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, (row, columns), ct.gather(x, (row, columns), padding_value=-0.0))
for offset in range(0, n, T):
    columns = offset + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, (ct.full((T,), row, ct.int32), columns), ct.gather(y, (row, columns), mask=columns < n) + 1)
"""
MASKED = """
i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
inside = i < n
ct.scatter(y, i, ct.gather(x, i, mask=inside, padding_value=0) + 1, mask=inside & (i < y.shape[0]))
"""
RAGGED = """
start = ct.gather(starts, ct.bid(0))
stop = ct.gather(starts, ct.bid(0) + 1)
for j in range(ct.cdiv(stop - start, T)):
    i = start + j * T + ct.arange(T, dtype=ct.int32)
    v = ct.gather(x, i, mask=i < stop, check_bounds=False)
    ct.scatter(y, i, v * ct.sum(v), mask=i < stop, check_bounds=False)
"""
PAGED = """
page = ct.gather(table, ct.bid(0))
i = page * P + ct.arange(P, dtype=ct.int32)
ct.scatter(y, ct.bid(0) * P + ct.arange(P, dtype=ct.int32), ct.gather(x, i, check_bounds=False))
"""
FLAT = """
group, head = ct.bid(1) // H, ct.bid(1) % H
i = group * (H * N) + head * N + ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
ct.scatter(y, i, ct.gather(x, i) * 3)
"""


def case(parameters, body, grid, values, *contains):
    return Case(kernel(parameters, body), grid, values, contains)


CASES = {
    "a plane": case(
        "x, y, R, T", PLANE, (3, 2), (numbers(21, 50), ones(21, 50), 8, 32), "index=(ct.bid(0), ct.bid(1)), shape=(R, T)",
    ),
    "rows in steps": case(
        "x, y, n, T", COUNTED, (3,), (numbers(3, 70), ones(3, 70), 70, 32),
        "index=(row, j)", "y.slice(axis=1, start=0, stop=min(n, y.shape[1])), index=(row, offset // T)",
    ),
    "ragged": case(
        "x, starts, y, T", RAGGED, (4,), (numbers(90), np.array([3, 40, 40, 41, 90], np.int32), ones(90), 16),
        "x.slice(axis=0, start=start, stop=min(stop, x.shape[0])), index=(j,)",
    ),
    "paged": case(
        "x, table, y, P", PAGED, (3,), (numbers(64), np.array([2, 0, 3], np.int32), ones(48), 16),
        "ct.load(x, index=(page,), shape=(P,)",
    ),
}  # fmt: skip
SHOWN = "only the captured launches show"
LAUNCH_ONLY = {
    "a length that is the array's": case(
        "x, y, n, T", MASKED, (4,), (numbers(101), ones(101), 101, 32), "not certain to begin before `n`", SHOWN,
    ),
    "a length below the array's": case(
        "x, y, n, T", MASKED, (3,), (numbers(101), ones(103), 77, 32), "not certain to begin before `n`", SHOWN,
    ),
    "one vector of many": case(
        "x, y, H, N, T", FLAT, (3, 6), (numbers(6 * 48), ones(6 * 48), 3, 48, 16),
        "from `H * N * group + N * head` is not aligned", SHOWN,
    ),
}  # fmt: skip
"""Accesses that are tiles in the captured launch, and perhaps in no other."""


REFUSED = {
    "a start from memory": (RAGGED.replace(", check_bounds=False", ""), "x, starts, y, T", "comes from memory"),
    "another mask": (
        "i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)\nct.scatter(y, i, ct.gather(x, i, mask=i > n))\n",
        "x, y, n, T",
        "cannot carry the mask",
    ),
    "every second element": (
        "i = 2 * (ct.bid(0) * T + ct.arange(T, dtype=ct.int32))\nct.scatter(y, i, ct.gather(x, i))\n",
        "x, y, T",
        "not certainly a contiguous range",
    ),
    "a diagonal": (
        "i = ct.arange(T, dtype=ct.int32)\nct.scatter(y, (i, i), ct.gather(x, (i, i)))\n",
        "x, y, T",
        "along a diagonal",
    ),
    "a transposition": (
        "i = ct.arange(T, dtype=ct.int32)\nct.scatter(y, i, ct.gather(x, (i[None, :], i[:, None])))\n",
        "x, y, T",
        "in another order",
    ),
    "a range that moves": (
        "i = ct.arange(T, dtype=ct.int32)\nfor j in range(n):\n    ct.scatter(y, i, ct.gather(x, i))\n    i += T\n",
        "x, y, n, T",
        "not certainly a contiguous range",
    ),
    "an early end": (
        RAGGED.replace("    v =", "    if j > 3:\n        break\n    v ="),
        "x, starts, y, T",
        "comes from memory",
    ),
}
