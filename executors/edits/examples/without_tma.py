"""Examples of F."""

from ..base import Example


def _split(load: str = "", first: str = "", second: str = "") -> str:
    """A kernel with one load and two stores; each may get more keywords."""
    return f"""\
import cuda.tile as ct


@ct.kernel
def split(x, y, z, TILE: ct.Constant[int]):
    block = ct.bid(0)
    values = ct.load(x, index=(block,), shape=(TILE,){load})
    ct.store(y, (block,), ct.maximum(values, 0.0){first})  # the positive part
    ct.store(
        z,
        index=(block,),
        tile=ct.minimum(values, 0.0),{second}
    )
"""


VIEW = """\
import cuda.tile as ct


@ct.kernel
def shift(x, y, first: int, T: ct.Constant[int]):
    tiles = x.tiled_view((T,), padding_mode=ct.PaddingMode.ZERO)
    rest = ct.load(x.slice(axis=0, start=first, stop=x.shape[0]), (ct.bid(0),), (T,))
    both = tiles.load((ct.bid(0),){off}) + rest
    ct.store(y, (ct.bid(0),), both)
"""

SCATTER = """\
from cuda import tile


@tile.kernel
def copy(x, y, T: tile.Constant[int]):
    index = tile.bid(0) * T + tile.arange(T, dtype=tile.int32)
    tile.scatter(y, index, tile.gather(x, index))
"""

OFF = ", allow_tma=False"
OFF_BELOW = "\n        allow_tma=False,"

EXAMPLES: tuple[Example, ...] = (
    Example("all stores", "split", "stores", _split(), _split(first=OFF, second=OFF_BELOW)),
    Example("the second store", "split", "store-2", _split(), _split(second=OFF_BELOW)),
    Example("a load that says True", "split", "loads", _split(load=", allow_tma=True"), _split(load=OFF)),
    Example("those left over", "split", "stores", _split(first=OFF), _split(first=OFF, second=OFF_BELOW)),
    Example("the load of a view", "shift", "load-2", VIEW.format(off=""), VIEW.format(off=", allow_tma=False")),
    Example("set already", "split", "loads", _split(load=OFF), refused="False on every ct.load already"),
    Example("set on that store", "split", "store-1", _split(first=OFF), refused="on every ct.store already"),
    Example("scatter takes no allow_tma", "copy", "stores", SCATTER, refused="the kernel has no ct.store"),
    Example("no third store", "split", "store-3", _split(), refused="no ct.store for variant store-3"),
    Example("no load", "copy", "loads", SCATTER, refused="the kernel has no ct.load"),
)
