"""Examples of static-shape."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example


def _norm(kinds: str = "{}", imported: str = "") -> str:
    """A row kernel; `kinds` annotates its arrays."""
    x, y = (f"{name}{kinds.removeprefix('{}')}" for name in ("x", "y"))
    return f"""\
\"\"\"Rows divided by their sums.\"\"\"

{imported}import cuda.tile as ct


@ct.kernel
def norm(
    {x},  # rows
    {y},
    N: ct.Constant[int],
    T: ct.Constant[int],
):
    row = ct.bid(0)
    value = ct.load(x, (row, 0), (1, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (row, 0), value / ct.sum(value, axis=1, keepdims=True))
"""


def _launch(rows: int, columns: int, *, constant: int = 0) -> Launch:
    arrays = [ArrayArgument(name, "float32", (rows, columns), (columns, 1)) for name in ("x", "y")]
    numbers = [ScalarArgument("N", constant, constant=True), ScalarArgument("T", 128, constant=True)]
    return Launch("norm", (rows,), (*arrays, *numbers))


IMPORT = "from typing import Annotated\n"
FIXED = ": Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,))]"
STRIDES = ": Annotated[ct.Array, ct.ArrayAnnotation(static_stride_dims=(0, 1))]"
BOTH = ": Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(-1,), static_stride_dims=(0, 1))]"
SAME = (_launch(8, 100), _launch(64, 100))
CONSTANT = (_launch(8, 100, constant=100), _launch(8, 50, constant=50))
READ = _norm().replace("    row = ct.bid(0)\n", "    row = ct.bid(0)\n    width = x.shape[1] + y.shape[1]\n")

EXAMPLES: tuple[Example, ...] = (
    Example("columns stay", "norm", "shape", _norm(), _norm(FIXED, IMPORT), launches=SAME),
    Example("a constant already", "norm", "shape", _norm(), _norm(FIXED, IMPORT), launches=CONSTANT),
    Example("imported already", "norm", "strides", _norm(imported=IMPORT), _norm(STRIDES, IMPORT), launches=SAME),
    Example("both", "norm", "shape,strides", _norm(), _norm(BOTH, IMPORT), launches=SAME),
    Example("no launches", "norm", "shape", _norm(), refused="only captured launches can say"),
    Example("one launch", "norm", "shape", _norm(), refused="no captured launch says that", launches=SAME[:1]),
    Example(
        "columns change",
        "norm",
        "shape",
        _norm(),
        refused="the last extent of x changes",
        launches=(_launch(8, 100), _launch(8, 50)),
    ),
    Example("its extent is read", "norm", "shape", READ, refused="reads extents or strides of x", launches=SAME),
    Example("annotated", "norm", "shape", _norm(FIXED, IMPORT), refused="no parameter without", launches=SAME),
)
