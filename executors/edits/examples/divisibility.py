"""Examples of divisibility."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example


def _rows(declared: bool, *, annotated: bool = True) -> str:
    """Rows of a flat array, `stride` elements apart; or with the stride declared divisible."""
    kind = ": int" if annotated else ""
    parameter = ", STRIDE_DIVISOR: ct.Constant[int]" if declared else ""
    statement = "    stride = ct.assume_divisible_by(stride, STRIDE_DIVISOR)\n" if declared else ""
    computed = "    stride_divisor = 16 if stride % 16 == 0 else 1\n" if declared else ""
    passed = ", stride_divisor" if declared else ""
    return f"""\
import cuda.tile as ct


@ct.kernel
def double(x, y, stride{kind}, T: ct.Constant[int]{parameter}):
    \"\"\"Doubles the beginning of each row.\"\"\"
{statement}    place = ct.bid(0) * stride + ct.arange(T, dtype=ct.int32)
    ct.scatter(y, place, ct.gather(x, place) * 2)


def launch(stream, x, y, rows, stride):
{computed}    ct.launch(stream, (rows,), double, (x, y, stride, 64{passed}))
"""


def _window(declared: bool) -> str:
    """A softmax of columns from `first` on."""
    parameter = "    FIRST_DIVISOR: tile.Constant[int],\n" if declared else ""
    statement = "    first = tile.assume_divisible_by(first, FIRST_DIVISOR)\n" if declared else ""
    computed = "    first_divisor = 16 if first % 16 == 0 else 1\n" if declared else ""
    passed = ", first_divisor" if declared else ""
    return f"""\
from cuda import tile


@tile.kernel
def window(
    x,
    y,
    first: int,
    T: tile.Constant[int],
{parameter}):
{statement}    part = x.slice(1, first, first + T)
    value = tile.load(part, (tile.bid(0), 0), (1, T))
    power = tile.exp(value - tile.max(value, axis=1, keepdims=True))
    tile.store(y, (tile.bid(0), 0), power / tile.sum(power, axis=1, keepdims=True))


def launch(stream, x, y, first, width):
    # the window is as wide as the tile
{computed}    tile.launch(stream, (x.shape[0],), window, (x, y, first, width{passed}))
"""


def _launch(stride: int) -> Launch:
    array = ("float32", (4096,), (1,))
    numbers = (ScalarArgument("stride", stride, constant=False), ScalarArgument("T", 64, constant=True))
    return Launch("double", (4,), (ArrayArgument("x", *array), ArrayArgument("y", *array), *numbers))


EVEN, ODD = (_launch(128), _launch(65)), (_launch(100), _launch(65))
PLAIN = _rows(declared=False, annotated=False)
COUNTED = _rows(declared=False).replace("ct.bid(0) * stride +", "ct.bid(0) * T +")
MADE = _rows(declared=False).replace("(x, y, stride, 64)", "(x, y, int(stride), 64)")

EXAMPLES: tuple[Example, ...] = (
    Example("rows of a flat array", "double", "stride", _rows(declared=False), _rows(declared=True)),
    Example("known from the launches", "double", "stride", PLAIN, _rows(declared=True, annotated=False), launches=EVEN),
    Example("the start of a slice", "window", "first", _window(declared=False), _window(declared=True)),
    Example("unknown without launches", "double", "stride", PLAIN, refused="no run-time scalar that is"),
    Example("never divisible", "double", "stride", PLAIN, refused="in no captured launch", launches=ODD),
    Example("no position", "double", "stride", COUNTED, refused="stride decides no position in an array"),
    Example("declared already", "double", "stride", _rows(declared=True), refused="line 7 declares stride"),
    Example("computed for the launch", "double", "stride", MADE, refused="would be computed twice"),
)
