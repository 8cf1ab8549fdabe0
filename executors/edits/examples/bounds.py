"""Examples of bounds."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example
from .edited import edited

VECTOR = """\
import cuda.tile as ct

TILE = 1024


@ct.kernel
def double(x, z, T: ct.Constant[int]):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    value = ct.gather(x, index)
    ct.scatter(z, index, value + value)


def launch(stream, x, z):
    grid = (ct.cdiv(x.shape[0], TILE),)
    # one block a tile
    ct.launch(stream, grid, double, (x, z, TILE))
"""
ADDED = edited(
    VECTOR,
    ("T: ct.Constant[int]", "T: ct.Constant[int], CHECK_BOUNDS: ct.Constant[bool]"),
    ("index)", "index, check_bounds=CHECK_BOUNDS)"),
    ("+ value", "+ value, check_bounds=CHECK_BOUNDS"),
    ("    ct.launch", "    check_bounds = grid[0] * TILE > min(x.shape[0], z.shape[0])\n    ct.launch"),
    ("z, TILE)", "z, TILE, check_bounds)"),
)
ELSEWHERE = VECTOR.split("def launch", maxsplit=1)[0]

SOFTMAX = """\
from cuda import tile


@tile.kernel
def softmax(
    x,
    y,
    T: tile.Constant[int],  # of a row
):
    row = tile.bid(0)
    value = tile.load(x, index=(row, 0), shape=(1, T), padding_mode=tile.PaddingMode.NEG_INF)
    power = tile.exp(value - tile.max(value, axis=1, keepdims=True))
    tile.store(y, index=(row, 0), tile=power / tile.sum(power, axis=1, keepdims=True))


def launch(stream, x, y, width):
    tile.launch(stream, (x.shape[0],), softmax, (x, y, width))
"""

UNDETERMINED = " if CHECK_BOUNDS else tile.PaddingMode.UNDETERMINED, check_bounds=CHECK_BOUNDS"
# That x.shape[0] is at most itself is always so and not asked.
UNPADDED = edited(
    SOFTMAX,
    ("  # of a row\n", "  # of a row\n    CHECK_BOUNDS: tile.Constant[bool],\n"),
    ("PaddingMode.NEG_INF", f"PaddingMode.NEG_INF{UNDETERMINED}"),
    ("    tile.launch(", "    check_bounds = width > x.shape[1]\n    tile.launch("),
    ("y, width))", "y, width, check_bounds))"),
)


def _launch(length: int) -> Launch:
    blocks, array = -(-length // 1024), ("float32", (length,), (1,))
    arguments = (ArrayArgument("x", *array), ArrayArgument("z", *array), ScalarArgument("T", 1024, constant=True))
    return Launch("double", (blocks,), arguments)


BEFORE = VECTOR.replace("ct.bid(0) * T +", "ct.bid(0) * T - 1 +")
MADE = VECTOR.replace("(x, z, TILE)", "(x.view(-1), z, TILE)")
NEVER = (_launch(1000), _launch(1025))

EXAMPLES: tuple[Example, ...] = (
    Example("a vector", "double", "all", VECTOR, ADDED),
    Example("some launches divide", "double", "all", VECTOR, ADDED, launches=(_launch(2048), _launch(5))),
    Example("a row without padding", "softmax", "reads", SOFTMAX, UNPADDED),
    Example("no launch divides", "double", "all", VECTOR, refused="in every captured launch", launches=NEVER),
    Example("decided already", "double", "all", ADDED, refused="check_bounds is decided already"),
    Example("an index before the array", "double", "all", BEFORE, refused="how far `index` in its index goes"),
    Example("made for the launch", "double", "all", MADE, refused="`x.view(-1)`, passed for x, would be computed"),
    Example("another file launches", "double", "all", ELSEWHERE, refused="no ct.launch of double"),
)
