"""Examples of J."""

from kdiag.records import ArrayArgument, Launch, ScalarArgument

from ..base import Example
from .edited import HEAD, edited

SUMS = f"""{HEAD}def sums_kernel(x, totals, T: ct.Constant[int]):
    column = ct.bid(0)
    for row in range(ct.bid(1), x.shape[0], ct.num_blocks(1)):
        values = ct.gather(x, (row, column * T + ct.arange(T, dtype=ct.int32)))
        ct.atomic_add(totals, column * T + ct.arange(T, dtype=ct.int32), values)  # any order will do
"""
RELAXED = ", memory_order=ct.MemoryOrder.RELAXED"

# The two halves of a row are scaled in place.
HALVES = f"""{HEAD}def halves_kernel(x, T: ct.Constant[int]):
    row = ct.bid(0)
    left = ct.load(x, index=(row, 0), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
    ct.store(x, index=(row, 0), tile=left * 2.0)
    factor = 3.0
    right = ct.load(x, index=(row, 1), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)  # the other half
    ct.store(x, index=(row, 1), tile=right * factor)
"""


RIGHT = next(line for line in HALVES.splitlines(keepends=True) if line.startswith("    right"))
STORE = "    ct.store(x, index=(row, 0), tile=left * 2.0)\n"
MOVED = edited(HALVES, (RIGHT, ""), (STORE, RIGHT + STORE))
SAME_TILE = edited(HALVES, ("(row, 1)", "(row, 0)"))
APART = (("(row, 0)", "(2 * row, 0)"), ("(row, 1)", "(2 * row + 1, 0)"))
NEXT = edited(HALVES, *APART)
TICKET = edited(SUMS, ("        ct.atomic_add(", "        ticket = ct.atomic_add("))
COUNTED = edited(SUMS, ("        values =", "        ct.scatter(x, (row, 0), 0.0)\n        values ="))
READ_BACK = SUMS + "    ct.scatter(x, (0, column), ct.gather(totals, column))\n"
SEPARATE = edited(HALVES, ("def halves_kernel(x,", "def halves_kernel(x, y,"), ("ct.store(x", "ct.store(y"))
IN_PLACE_LOOP = f"""{HEAD}def scale_kernel(x, T: ct.Constant[int]):
    row = ct.bid(0)
    for k in range(ct.num_tiles(x, axis=1, shape=(1, T))):
        ct.store(x, index=(row, k), tile=ct.load(x, index=(row, k), shape=(1, T)) * 2.0)
"""
FLOATS = Launch(
    "sums_kernel",
    (4, 8, 1),
    (
        ArrayArgument("x", "float32", (100, 256), (256, 1)),
        ArrayArgument("totals", "float32", (256,), (1,)),
        ScalarArgument("T", 64, True),
    ),
)
EXPANDED = Launch(
    "halves_kernel", (8, 1, 1), (ArrayArgument("x", "float32", (8, 128), (0, 1)), ScalarArgument("T", 64, True))
)


def _sums(name: str, before: str, after: str | None = None, refused: str = "", *launches: Launch) -> Example:
    return Example(name, "sums_kernel", "relaxed-atomics", before, after, refused, launches=launches)


def _halves(name: str, before: str, after: str | None = None, refused: str = "", *launches: Launch) -> Example:
    return Example(name, "halves_kernel", "loads-first", before, after, refused, launches=launches)


ADDED = ("T, dtype=ct.int32), values)", f"T, dtype=ct.int32), values{RELAXED})")

EXAMPLES: tuple[Example, ...] = (
    _sums("an atomic that only adds up", SUMS, edited(SUMS, ADDED)),
    _sums("sums of numbers beside a store", COUNTED, edited(COUNTED, ADDED), "", FLOATS),
    _halves("a load in front of the store of another tile", HALVES, MOVED),
    _halves("tiles one row apart", NEXT, edited(MOVED, *APART)),
    _halves("the same tile", SAME_TILE, refused="x is read and written"),
    _halves("elements that share memory", HALVES, None, "x is read and written", EXPANDED),
    _halves("different arrays wait for nothing", SEPARATE, refused="keeps only accesses to one array in order"),
    Example("a loop in place", "scale_kernel", "loads-first", IN_PLACE_LOOP, refused="line 8: x is read and written"),
    _sums("a ticket", TICKET, refused="what atomic_add returns is used"),
    _sums("a count beside a store", COUNTED, refused="totals may count"),
    _sums("read back", READ_BACK, refused="totals is not only added to"),
    _sums("relaxed already", edited(SUMS, ADDED), refused="names its memory order already"),
)
