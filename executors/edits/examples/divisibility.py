"""Examples of divisibility."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example
from .edited import edited

# Rows of a flat array, `stride` elements apart.
ROWS = '''\
import cuda.tile as ct


@ct.kernel
def double(x, y, stride: int, T: ct.Constant[int]):
    """Doubles the beginning of each row."""
    place = ct.bid(0) * stride + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, place, ct.gather(x, place) * 2)


def launch(stream, x, y, rows, stride):
    ct.launch(stream, (rows,), double, (x, y, stride, 64))
'''
DECLARED = edited(
    ROWS,
    ("T: ct.Constant[int]", "T: ct.Constant[int], STRIDE_DIVISOR: ct.Constant[int]"),
    ("    place =", "    stride = ct.assume_divisible_by(stride, STRIDE_DIVISOR)\n    place ="),
    ("    ct.launch", "    stride_divisor = 16 if stride % 16 == 0 else 1\n    ct.launch"),
    ("stride, 64)", "stride, 64, stride_divisor)"),
)

# A softmax of columns from `first` on.
WINDOW = """\
from cuda import tile


@tile.kernel
def window(
    x,
    y,
    first: int,
    T: tile.Constant[int],
):
    part = x.slice(1, first, first + T)
    value = tile.load(part, (tile.bid(0), 0), (1, T))
    power = tile.exp(value - tile.max(value, axis=1, keepdims=True))
    tile.store(y, (tile.bid(0), 0), power / tile.sum(power, axis=1, keepdims=True))


def launch(stream, x, y, first, width):
    # the window is as wide as the tile
    tile.launch(stream, (x.shape[0],), window, (x, y, first, width))
"""
WINDOW_DECLARED = edited(
    WINDOW,
    ("T: tile.Constant[int],\n", "T: tile.Constant[int],\n    FIRST_DIVISOR: tile.Constant[int],\n"),
    ("    part =", "    first = tile.assume_divisible_by(first, FIRST_DIVISOR)\n    part ="),
    ("    tile.launch", "    first_divisor = 16 if first % 16 == 0 else 1\n    tile.launch"),
    ("first, width))", "first, width, first_divisor))"),
)


def _launch(stride: int) -> Launch:
    array = ("float32", (4096,), (1,))
    numbers = (ScalarArgument("stride", stride, constant=False), ScalarArgument("T", 64, constant=True))
    return Launch("double", (4,), (ArrayArgument("x", *array), ArrayArgument("y", *array), *numbers))


EVEN, ODD = (_launch(128), _launch(65)), (_launch(100), _launch(65))
BARE = ("stride: int", "stride")
PLAIN = edited(ROWS, BARE)
COUNTED = ROWS.replace("ct.bid(0) * stride +", "ct.bid(0) * T +")
MADE = ROWS.replace("(x, y, stride, 64)", "(x, y, int(stride), 64)")

EXAMPLES: tuple[Example, ...] = (
    Example("rows of a flat array", "double", "stride", ROWS, DECLARED),
    Example("known from the launches", "double", "stride", PLAIN, edited(DECLARED, BARE), launches=EVEN),
    Example("the start of a slice", "window", "first", WINDOW, WINDOW_DECLARED),
    Example("unknown without launches", "double", "stride", PLAIN, refused="no run-time scalar that is"),
    Example("never divisible", "double", "stride", PLAIN, refused="in no captured launch", launches=ODD),
    Example("no position", "double", "stride", COUNTED, refused="stride decides no position in an array"),
    Example("declared already", "double", "stride", DECLARED, refused="line 7 declares stride"),
    Example("computed for the launch", "double", "stride", MADE, refused="would be computed twice"),
)
