"""Examples of A: what the edit makes of a kernel, and what it leaves alone."""

from ..base import Example
from .edited import HEAD, edited
from .tile_ranges import RANGES

SOFTMAX = f"""{HEAD}def softmax(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
    values = ct.gather(x, (row, columns), check_bounds=True, padding_value=-float("inf"))
    numerator = ct.exp(values - ct.max(values, axis=0, keepdims=True))
    result = numerator / ct.sum(numerator, axis=0, keepdims=True)
    ct.scatter(y, (row, columns), ct.astype(result, y.dtype), check_bounds=True)
"""

SOFTMAX_TILES = f"""{HEAD}def softmax(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    values = ct.reshape(ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF), (TILE,))
    numerator = ct.exp(values - ct.max(values, axis=0, keepdims=True))
    result = numerator / ct.sum(numerator, axis=0, keepdims=True)
    ct.store(y, index=(row, 0), tile=ct.reshape(ct.astype(result, y.dtype), (1, TILE)))
"""

ADD = f"""{HEAD}def add(a, b, c, T: ct.Constant[int]):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)  # the elements of this block
    total = ct.gather(a, index, latency=3) + ct.gather(b, index)
    ct.scatter(c, index, total)
"""

ADD_LOADS = edited(
    ADD,
    (
        "ct.gather(a, index, latency=3)",
        "ct.load(a, index=(ct.bid(0),), shape=(T,), padding_mode=ct.PaddingMode.ZERO, latency=3)",
    ),
    ("ct.gather(b, index)", "ct.load(b, index=(ct.bid(0),), shape=(T,), padding_mode=ct.PaddingMode.ZERO)"),
)

SCALE = f"""{HEAD}def scale(x, y, n: int, TILE: ct.Constant[int]):
    row = ct.bid(0)
    for j in range(ct.cdiv(n, TILE)):
        start = TILE * j
        columns = ct.arange(TILE, dtype=ct.int32) + start
        ct.scatter(y, (row, columns), ct.gather(x, (row, columns)) * 2)
"""

SCALE_NO_TMA = f"""{HEAD}def scale(x, y, n: int, TILE: ct.Constant[int]):
    row = ct.bid(0)
    for j in range(ct.cdiv(n, TILE)):
        start = TILE * j
        ct.store(y, index=(row, j), tile=ct.reshape(ct.reshape(ct.load(x, index=(row, j), shape=(1, TILE), \
padding_mode=ct.PaddingMode.ZERO, allow_tma=False), (TILE,)) * 2, (1, TILE)), allow_tma=False)
"""

ROW_COPY = f"""{HEAD}def copy(x, y, TILE: ct.Constant[int]):
    row, block = ct.bid(0), ct.bid(1)
    values = ct.load(x, index=(row, block), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_ZERO, allow_tma=True)
    ct.store(y, index=(row, block), tile=values * 2, latency=4)
"""

ROW_COPY_GATHERED = f"""{HEAD}def copy(x, y, TILE: ct.Constant[int]):
    row, block = ct.bid(0), ct.bid(1)
    values = ct.reshape(ct.gather(x, (row, block * TILE + ct.arange(TILE, dtype=ct.int32)), padding_value=-0.0), \
(1, TILE))
    ct.scatter(y, (row, block * TILE + ct.arange(TILE, dtype=ct.int32)), ct.reshape(values * 2, (TILE,)), latency=4)
"""


def _gather(indices: str, padding: str = "", before: str = "pass") -> str:
    """A kernel that gathers with these indices."""
    return f"""{HEAD}def take(x, y, rows, offset: int, TILE: ct.Constant[int], OTHER: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
    {before}
    ct.store(y, index=(row,), tile=ct.gather(x, {indices}{padding}))
"""


NORM = f"""{HEAD}def norm(x, y, TILE: ct.Constant[int]):
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    values = ct.gather(x, index)
    ct.scatter(y, index, ct.sum(values * values))
"""
NORM_TILES = f"""{HEAD}def norm(x, y, TILE: ct.Constant[int]):
    values = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(ct.bid(0),), tile=ct.broadcast_to(ct.sum(values * values), (TILE,)))
"""


def _refused(name: str, source: str, refused: str, variant: str = "tile-load-store") -> Example:
    return Example(name, "take", variant, source, refused=refused)


EXAMPLES: tuple[Example, ...] = (
    *RANGES,
    Example("rows of a softmax, padded with -inf", "softmax", "tile-load-store", SOFTMAX, SOFTMAX_TILES),
    Example("a vector's loads, the store stays", "add", "tile-load", ADD, ADD_LOADS),
    Example("a loop over the tiles of a row, without TMA", "scale", "tile-load-store-no-tma", SCALE, SCALE_NO_TMA),
    Example("one element spread over its range", "norm", "tile-load-store", NORM, NORM_TILES),
    Example("a row tile back to a gather", "copy", "gather-scatter", ROW_COPY, ROW_COPY_GATHERED),
    _refused("a mask", _gather("(row, columns)", ", mask=columns < offset"), "not certain to begin before `offset`"),
    _refused("a padding value", _gather("(row, columns)", ", padding_value=1.0"), "padding_value=1.0"),
    _refused("an element offset", _gather("(row, columns + offset)"), "from `offset` is not aligned"),
    _refused("a range of another size", _gather("(row, ct.bid(1) * OTHER + columns)"), "aligned to a tile"),
    _refused("an offset by blocks of rows", _gather("(row * 2 + 1, columns)"), "`2 * row + 1` in the index"),
    _refused("indices from memory", _gather("(ct.gather(rows, row), columns)"), "comes from memory"),
    _refused(
        "a range that an if replaces",
        _gather("columns", before="if offset: columns = rows"),
        "not certainly a contiguous range",
    ),
    _refused("nothing to scatter", _gather("(row, columns)"), "no ct.scatter", variant="tile-store"),
    _refused("a store of unknown shape", _gather("(row, columns[::2])"), "does not follow", variant="gather-scatter"),
)
