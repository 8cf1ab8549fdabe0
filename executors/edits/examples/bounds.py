"""Examples of bounds."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example
from .edited import edited


def _add(checked: bool, *, flag: str = "CHECK_BOUNDS") -> str:
    """A vector kernel with its launch; unchecked, the launch computes the flag."""
    parameter = "" if checked else f", {flag}: ct.Constant[bool]"
    given = "" if checked else f", check_bounds={flag}"
    computed = "" if checked else "    check_bounds = grid[0] * TILE > min(x.shape[0], z.shape[0])\n"
    passed = "" if checked else ", check_bounds"
    return f"""\
import cuda.tile as ct

TILE = 1024


@ct.kernel
def double(x, z, T: ct.Constant[int]{parameter}):
    index = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    value = ct.gather(x, index{given})
    ct.scatter(z, index, value + value{given})


def launch(stream, x, z):
    grid = (ct.cdiv(x.shape[0], TILE),)
    # one block a tile
{computed}    ct.launch(stream, grid, double, (x, z, TILE{passed}))
"""


ADDED = _add(checked=False)
ELSEWHERE = _add(checked=True).split("def launch")[0]

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


BEFORE = _add(checked=True).replace("ct.bid(0) * T +", "ct.bid(0) * T - 1 +")
MADE = _add(checked=True).replace("(x, z, TILE)", "(x.view(-1), z, TILE)")
NEVER = (_launch(1000), _launch(1025))

EXAMPLES: tuple[Example, ...] = (
    Example("a vector", "double", "all", _add(checked=True), ADDED),
    Example("some launches divide", "double", "all", _add(checked=True), ADDED, launches=(_launch(2048), _launch(5))),
    Example("a row without padding", "softmax", "reads", SOFTMAX, UNPADDED),
    Example(
        "no launch divides", "double", "all", _add(checked=True), refused="in every captured launch", launches=NEVER
    ),
    Example("decided already", "double", "all", ADDED, refused="check_bounds is decided already"),
    Example("an index before the array", "double", "all", BEFORE, refused="how far `index` in its index goes"),
    Example("made for the launch", "double", "all", MADE, refused="`x.view(-1)`, passed for x, would be computed"),
    Example("another file launches", "double", "all", ELSEWHERE, refused="no ct.launch of double"),
)
