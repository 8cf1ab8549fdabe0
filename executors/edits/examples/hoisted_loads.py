"""Examples of hoist."""

from ..base import Example


def gradient(before: str = "", inside: str = "") -> str:
    """Sums the weighted rows of `x` into `total`, with these lines before and in the loop."""
    return f"""\
import cuda.tile as ct


@ct.kernel
def gradient(x, w, total, TM: ct.Constant[int], TN: ct.Constant[int]):
    columns = ct.arange(TN, dtype=ct.int32)
{before}    for row in range(ct.bid(0), ct.num_tiles(x, 0, (TM, TN)), ct.num_blocks(0)):
{inside}        tile = ct.load(x, (row, 0), (TM, TN), padding_mode=ct.PaddingMode.ZERO)
        ct.atomic_add(total, (0, columns), ct.sum(tile * weight, axis=0))
"""


def nested(outside: str = "", between: str = "", inside: str = "") -> str:
    """A loop in a loop, with lines in front of both, in the outer and in the inner one."""
    return f"""\
import cuda.tile as ct


@ct.kernel
def count(x, w, total, ROUNDS: ct.Constant[int], T: ct.Constant[int]):
{outside}    for part in range(ROUNDS):
        number = ct.bid(0)
{between}        while number < ct.num_tiles(x, 0, (T,)):
{inside}            ct.atomic_add(total, positions, weight * ct.load(x, (number,), (T,)))
            number = number + ct.num_blocks(0)
"""


WEIGHT = "weight = ct.astype(ct.load(w, {}, (1, TN), padding_mode=ct.PaddingMode.ZERO), ct.float32)  # a row\n"
LINES = ("# the weights of all rows\n", WEIGHT.format("(0, 0)"))
POSITIONS = ("positions = ct.arange(T, dtype=ct.int32)\n", "weight = ct.gather(w, positions)\n")
BY_PART = ("positions = part + ct.arange(T, dtype=ct.int32)\n", POSITIONS[1])


def _at(depth: int, lines: tuple[str, ...]) -> str:
    return "".join("    " * depth + line for line in lines)


def _refused(name: str, source: str, reason: str) -> Example:
    return Example(name, source.partition("def ")[2].partition("(")[0], "loads", source, refused=reason)


EXAMPLES: tuple[Example, ...] = (
    Example(
        "weights in a loop with an atomic sum",
        "gradient",
        "loads",
        gradient(inside=_at(2, LINES)),
        gradient(before=_at(1, LINES)),
    ),
    Example(
        "a gather with its positions, out of both loops",
        "count",
        "loads",
        nested(inside=_at(3, POSITIONS)),
        nested(outside=_at(1, POSITIONS)),
    ),
    Example(
        "what the outer loop changes", "count", "loads", nested(inside=_at(3, BY_PART)), nested(between=_at(2, BY_PART))
    ),
    _refused("before the loop already", gradient(before=_at(1, LINES)), "the same in every round"),
    _refused(
        "a loop without atomics",
        gradient(inside=_at(2, LINES)).replace("atomic_add", "scatter"),
        "out of other loops the compiler moves loads itself",
    ),
    _refused(
        "weights that are written",
        gradient(inside=_at(2, LINES)).replace("ct.atomic_add(total,", "ct.atomic_add(w,"),
        "line 9: the array w may be written",
    ),
    _refused(
        "a tile that may be outside",
        gradient(inside=_at(2, (WEIGHT.format("(ct.bid(1), 0)"),))),
        "not certainly inside the array",
    ),
    _refused(
        "another tile in every round", gradient(inside=_at(2, (WEIGHT.format("(row, 0)"),))), "the same in every round"
    ),
    _refused(
        "a gather that trusts its positions",
        nested(inside=_at(3, POSITIONS)).replace("gather(w, positions", "gather(w, positions, check_bounds=False"),
        "does not check its bounds",
    ),
)
