"""Examples of G: a tile as wide as a row becomes several."""

from .edited import edited, sized

# A block a row, in one tile as wide as the row.
ROWS = """\
import cuda.tile as ct
import torch


def next_power_of_2(n):
    return 1 << (n - 1).bit_length()


@ct.kernel
def gate_kernel(x, y, z, T: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(T, dtype=ct.int32)  # all of the row
    value = ct.gather(x, (row, columns)) * ct.gather(y, (row, columns))
    ct.scatter(z, (row, columns), value)


def gate(x, y):
    z = torch.empty_like(x)
    tile = next_power_of_2(x.shape[1])
    grid = (x.shape[0],)
    ct.launch(torch.cuda.current_stream(), grid, gate_kernel, (x, y, z, tile))
    return z
"""


LOADED_ROWS = edited(
    ROWS,
    ("    columns = ct.arange(T, dtype=ct.int32)  # all of the row\n", ""),
    ("ct.gather(x, (row, columns)) * ct.gather(y, (row, columns))", "ct.load(x, (row, 0), (1, T)) + 1"),
    ("ct.scatter(z, (row, columns), value)", "ct.store(z, (row, 0), value)"),
)
IN_PLACE = edited(ROWS, ("ct.scatter(z,", "ct.scatter(x,"))


EXAMPLES = (
    sized(
        "a row in one gathered tile is split over blocks",
        "gate_kernel",
        "tile=2048",
        ROWS,
        edited(
            ROWS,
            ("ct.arange(T, dtype=ct.int32)", "(ct.bid(1) * T + ct.arange(T, dtype=ct.int32))"),
            ("tile = next_power_of_2(x.shape[1])", "tile = min(2048, next_power_of_2(x.shape[1]))"),
            ("(x.shape[0],)", "(x.shape[0], next_power_of_2(x.shape[1]) // tile)"),
        ),
    ),
    sized(
        "a row in one loaded tile stays: a tile beside the array is undefined",
        "gate_kernel",
        "tile=1024",
        LOADED_ROWS,
        refused="calls ct.load, which is not known to be elementwise",
    ),
    sized(
        "a row that is changed in place",
        "gate_kernel",
        "tile=1024",
        IN_PLACE,
        refused="to hold a whole row, and x is read and written",
    ),
)
