"""Examples of A with ranges in several dimensions, ranges that start anywhere, and tiles of several rows."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example
from .edited import HEAD, edited

PLANE = f"""{HEAD}def negate(x, y, M: int, R: ct.Constant[int], T: ct.Constant[int]):
    rows = ct.bid(0) * R + ct.arange(R, dtype=ct.int32)
    columns = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)
    inside = (rows[:, None] < x.shape[0]) & (columns[None, :] < x.shape[1])
    values = ct.gather(x, (rows[:, None], columns[None, :]), mask=inside, check_bounds=False)
    ct.scatter(y, (rows[:, None], columns[None, :]), -values)
"""
PLANE_TILES = f"""{HEAD}def negate(x, y, M: int, R: ct.Constant[int], T: ct.Constant[int]):
    values = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(R, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(ct.bid(0), ct.bid(1)), tile=-values)
"""

RAGGED = f"""{HEAD}def part(x, y, start: int, stop: int, T: ct.Constant[int]):
    for j in range(ct.cdiv(stop - start, T)):
        i = start + j * T + ct.arange(T, dtype=ct.int32)
        values = ct.gather(x, i, mask=i < stop, check_bounds=False, padding_value=float("-inf"))
        ct.scatter(y, i, ct.exp(values), mask=i < stop, check_bounds=False)
"""
RAGGED_TILES = f"""{HEAD}def part(x, y, start: int, stop: int, T: ct.Constant[int]):
    for j in range(ct.cdiv(stop - start, T)):
        values = ct.load(x.slice(axis=0, start=start, stop=min(stop, x.shape[0])), index=(j,), shape=(T,), \
padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(y.slice(axis=0, start=start, stop=min(stop, y.shape[0])), index=(j,), tile=ct.exp(values))
"""

PAGED = f"""{HEAD}def page(x, y, table, PAGE: ct.Constant[int]):
    found = ct.gather(table, ct.bid(0))
    lines = ct.arange(PAGE, dtype=ct.int32) + found * PAGE
    values = ct.gather(x, lines)
    ct.scatter(y, ct.bid(0) * PAGE + ct.arange(PAGE, dtype=ct.int32), values)
"""
UNCHECKED = edited(PAGED, ("lines)", "lines, check_bounds=False)"))
PAGED_TILES = edited(
    UNCHECKED,
    ("    lines = ct.arange(PAGE, dtype=ct.int32) + found * PAGE\n", ""),
    ("ct.gather(x, lines,", "ct.load(x, index=(found,), shape=(PAGE,),"),
)

HALVES = f"""{HEAD}def second(x, y, H: ct.Constant[int], T: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(T, dtype=ct.int32)
    ct.scatter(y, (row, columns), ct.gather(x, (row, columns + H)))
"""
HALVES_LAUNCH = Launch(
    "second",
    (7,),
    (
        ArrayArgument("x", "float32", (7, 200), (200, 1)),
        ArrayArgument("y", "float32", (7, 100), (100, 1)),
        ScalarArgument("H", 100, constant=True),
        ScalarArgument("T", 128, constant=True),
    ),
)

SQUARE = """\
import cuda.tile as ct

PAD = ct.PaddingMode.ZERO


@ct.kernel
def square(x, y, R: ct.Constant[int], T: ct.Constant[int]):
    tile = ct.load(x, (ct.bid(1), ct.bid(0)), (T, R), order="F", padding_mode=PAD, latency=2)
    ct.store(y, (ct.bid(1), ct.bid(0)), ct.mma(tile, tile, ct.zeros((T, R), ct.float32)))
"""
SQUARE_GATHERED = """\
import cuda.tile as ct

PAD = ct.PaddingMode.ZERO


@ct.kernel
def square(x, y, R: ct.Constant[int], T: ct.Constant[int]):
    tile = ct.gather(x, (ct.bid(0) * R + ct.arange(R, dtype=ct.int32)[None, :], \
ct.bid(1) * T + ct.arange(T, dtype=ct.int32)[:, None]), latency=2)
    ct.scatter(y, (ct.bid(1) * T + ct.arange(T, dtype=ct.int32)[:, None], \
ct.bid(0) * R + ct.arange(R, dtype=ct.int32)[None, :]), ct.mma(tile, tile, ct.zeros((T, R), ct.float32)))
"""


RANGES: tuple[Example, ...] = (
    Example("a tile of rows and columns", "negate", "tile-load-store", PLANE, PLANE_TILES),
    Example("a ragged range, as a slice", "part", "tile-load-store", RAGGED, RAGGED_TILES),
    Example("a page", "page", "tile-load", UNCHECKED, PAGED_TILES),
    Example("a transposed tile to a gather", "square", "gather-scatter", SQUARE, SQUARE_GATHERED),
    Example("a page that may not exist", "page", "tile-load", PAGED, refused="only check_bounds=False"),
    Example(
        "an offset that only launches show to be inside",
        "second",
        "tile-load",
        HALVES,
        launches=(HALVES_LAUNCH,),
        refused="only the captured launches show",
    ),
    Example("an offset of unknown size", "second", "tile-load", HALVES, refused="from `H` is not aligned"),
)
