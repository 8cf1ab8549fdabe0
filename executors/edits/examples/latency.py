"""Examples of E."""

from ..base import Example


def _row_sum(load: str = "", store: str = "") -> str:
    """A loop of one load, then a store outside it; both may get more keywords."""
    return f"""\
import cuda.tile as ct


@ct.kernel
def row_sum(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.zeros((1, TILE), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(1, TILE))):
        total = total + ct.load(x, (row, k), (1, TILE), padding_mode=ct.PaddingMode.ZERO{load})
    ct.store(y, index=(row, 0), tile=ct.sum(total, axis=1, keepdims=True){store})
"""


def _scale(gather: str = "", scatter: str = "", second: str = "") -> str:
    """A grid-stride loop that gathers twice and scatters."""
    return f"""\
from cuda import tile


@tile.kernel
def scale(x, w, y, T: tile.Constant[int]):
    columns = tile.arange(T, dtype=tile.int32)
    for row in range(tile.bid(0), x.shape[0], tile.num_blocks(0)):
        value = tile.gather(x, (row, columns){gather})
        weight = tile.gather(
            w,
            (row, columns),{second}
        )
        tile.scatter(y, (row, columns), value * weight{scatter})  # in place of a store
"""


COPY = """\
import cuda.tile as ct


@ct.kernel
def copy(x, y, T: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)))
"""

CHOSEN = _row_sum(", latency=LATENCY").replace(
    "TILE: ct.Constant[int]", "TILE: ct.Constant[int], LATENCY: ct.Constant[int]"
)
TEN = ", latency=10"

EXAMPLES: tuple[Example, ...] = (
    Example("a load in a loop", "row_sum", "loads=4", _row_sum(), _row_sum(", latency=4")),
    Example("another value", "row_sum", "loads=1", _row_sum(TEN), _row_sum(", latency=1")),
    Example("no hint at all", "row_sum", "none", _row_sum(TEN, ", latency=3"), _row_sum()),
    Example("all that is in the loop", "row_sum", "all=10", _row_sum(), _row_sum(TEN)),
    Example("the second gather", "scale", "gather-2=10", _scale(), _scale(second="\n            latency=10,")),
    Example("scatters", "scale", "scatters=3", _scale(), _scale(scatter=", latency=3")),
    Example("a store after the loop", "row_sum", "stores=3", _row_sum(), refused="line 10: ct.store is in no loop"),
    Example("straight-line code", "copy", "loads=10", COPY, refused="straight-line code ignores latency"),
    Example("nothing to offer", "copy", "", COPY, refused="straight-line code ignores latency"),
    Example("set already", "row_sum", "loads=10", _row_sum(TEN), refused="latency is 10 already"),
    Example("no hint to remove", "scale", "none", _scale(), refused="no access has a latency hint"),
    Example("chosen by the launch", "row_sum", "loads=4", CHOSEN, refused="latency is chosen by `LATENCY`"),
    Example("no such access", "scale", "gather-3=4", _scale(), refused="no access gather-3"),
    Example("no such value", "scale", "gathers=11", _scale(), refused="gathers=11 names no latency"),
)
