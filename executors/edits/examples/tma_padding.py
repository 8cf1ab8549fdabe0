"""Examples of padding."""

from kdiag.records import ArrayArgument, Launch

from ..base import Example


def softmax(load: str) -> str:
    """A softmax of several rows a block, with this load."""
    return f"""\
import cuda.tile as ct

PADDING = ct.PaddingMode.NEG_INF


@ct.kernel
def softmax(x, y, ROWS: ct.Constant[int], T: ct.Constant[int]):
    block = ct.bid(0)
    values = {load}  # rows
    powers = ct.exp(values - ct.max(values, axis=1, keepdims=True))
    ct.store(y, (block, 0), powers / ct.sum(powers, axis=1, keepdims=True))
"""


def vector(load: str, result: str = "ct.max(values)") -> str:
    """A kernel that takes the largest of each tile of a vector."""
    return f"""\
import cuda.tile as ct


@ct.kernel
def largest(x, y, T: ct.Constant[int]):
    number = ct.bid(0)
    values = {load}
    ct.scatter(y, number, {result})
"""


def _launch(columns: int) -> tuple[Launch, ...]:
    arrays = (ArrayArgument(n, "float32", (8, columns), (columns, 1)) for n in "xy")
    return (Launch("softmax", (2, 1, 1), tuple(arrays)),)


ROWS = "(block * ROWS + ct.arange(ROWS, dtype=ct.int32) < x.shape[0])[:, None]"
COLUMNS = "(ct.arange(T, dtype=ct.int32) < x.shape[1])[None, :]"
INF = '-float("inf")'
LOAD = "ct.load(x, (block, 0), (ROWS, T), padding_mode=ct.PaddingMode.{})"
ROW = "ct.load(x, index=(block, 0), shape=(1, T), padding_mode=PADDING, latency=2)"
ROW_AFTER = "ct.load(x, index=(block, 0), shape=(1, T), padding_mode=ct.PaddingMode.ZERO, latency=2)"
SPREAD = """ct.load(
        x,
        index=(number,),  # tiles
        shape=(T,),
        padding_mode=ct.PaddingMode.{},
    )"""
WITHIN = "number * T + ct.arange(T, dtype=ct.int32) < x.shape[0]"


def _refused(name: str, load: str, reason: str, launches: tuple[Launch, ...] = ()) -> Example:
    return Example(name, "softmax", "zero", softmax(load), refused=reason, launches=launches)


EXAMPLES: tuple[Example, ...] = (
    Example(
        "rows and columns",
        "softmax",
        "zero",
        softmax(LOAD.format("NEG_INF")),
        softmax(f"ct.where({ROWS} & {COLUMNS}, {LOAD.format('ZERO')}, {INF})"),
        launches=_launch(1000),
    ),
    Example(
        "one row, padding under a name",
        "softmax",
        "zero",
        softmax(ROW),
        softmax(f"ct.where({COLUMNS}, {ROW_AFTER}, {INF})"),
    ),
    Example(
        "a vector over several lines",
        "largest",
        "zero",
        vector(SPREAD.format("NAN")),
        vector(f'ct.where({WITHIN}, {SPREAD.format("ZERO")}, float("nan"))'),
    ),
    Example(
        "columns first",
        "softmax",
        "zero",
        softmax('ct.load(x, (0, block), (ROWS, T), order="F", padding_mode=ct.PaddingMode.NEG_ZERO)'),
        softmax(
            "ct.where((ct.arange(ROWS, dtype=ct.int32) < x.shape[1])[:, None] & (block * T + ct.arange(T, "
            'dtype=ct.int32) < x.shape[0])[None, :], ct.load(x, (0, block), (ROWS, T), order="F", '
            "padding_mode=ct.PaddingMode.ZERO), -0.0)"
        ),
    ),
    _refused("zeros already", LOAD.format("ZERO"), "pads with anything but zeros"),
    _refused("undetermined", "ct.load(x, (block, 0), (ROWS, T))", "pads with anything but zeros"),
    _refused("no TMA wanted", ROW.replace("latency=2", "allow_tma=False"), "allow_tma=False is set"),
    _refused("a shape under a name", LOAD.format("NEG_INF").replace("(ROWS, T)", "SHAPE"), "not written out as tuples"),
    _refused("rows that TMA cannot address", ROW, "strides or address TMA cannot use", _launch(1001)),
    Example(
        "nothing combined",
        "largest",
        "zero",
        vector(SPREAD.format("NEG_INF"), "ct.exp(values)"),
        refused="combines no elements",
    ),
)
