"""Examples of K."""

from ..base import Example
from ..launches.batch_kernel import guard
from .edited import edited

CASTS = '''\
import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def cast_kernel(x, y, scale: float, T: ct.Constant[int]):
    """Scale a vector and give it another type."""
    values = ct.load(x, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), ct.astype(values * scale, y.dtype))


def cast_all(sources, results, scale=1.0):
    # one launch for each tensor
    for source, result in zip(sources, results):
        n = source.numel()
        grid = (ct.cdiv(n, TILE), 1, 1)
        ct.launch(torch.cuda.current_stream(), grid, cast_kernel, (source, result, scale, TILE))  # small
'''

BATCHED = (
    CASTS.partition("\n\ndef")[0]
    + """\


@ct.kernel
def cast_kernel_batched(x_items, y_items, scale: float, T: ct.Constant[int]):
    item = ct.bid(1)
    x = x_items[item]
    y = y_items[item]
    if ct.bid(0) < ct.cdiv(x.shape[0], T):
        values = ct.load(x, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, (ct.bid(0),), ct.astype(values * scale, y.dtype))


"""
    + guard("_may_run_together")
    + """\


def cast_all(sources, results, scale=1.0):
    # one launch for each tensor
    items = list(zip(sources, results))
    if _may_run_together(items, written={1}) and all(source.ndim == 1 for source, result in items):
        blocks = max(-(-source.numel() // TILE) for source, result in items)
        ct.launch(torch.cuda.current_stream(), (blocks, len(items), 1), cast_kernel_batched, ([source for source, result in items], [result for source, result in items], scale, TILE))
    else:
        for source, result in items:
            n = source.numel()
            grid = (ct.cdiv(n, TILE), 1, 1)
            ct.launch(torch.cuda.current_stream(), grid, cast_kernel, (source, result, scale, TILE))  # small
"""
)


ROWS = (
    ("            n = source.numel()\n", ""),
    ("        n = source.numel()\n", ""),
    ("ct.cdiv(n, TILE)", "(source.shape[1] + TILE - 1) // TILE"),
    ("(ct.bid(0),), (T,)", "(0, ct.bid(0)), (1, T)"),
    ("ct.store(y, (ct.bid(0),)", "ct.store(y, (0, ct.bid(0))"),
)
FIRST_ROWS = edited(CASTS, *ROWS)
BATCHED_ROWS = edited(
    BATCHED,
    *ROWS,
    ("source.numel()", "source.shape[1]"),
    ("x.shape[0]", "x.shape[1]"),
    (" and all(source.ndim == 1 for source, result in items)", ""),
)
PAIRS = (("zip(sources, results)", "pairs"), ("sources, results, scale", "pairs, scale"))
CHAINED = edited(
    CASTS, ("        n = source.numel()\n", "        n = source.numel()\n        results.append(source)\n")
)
EACH_SCALE = edited(
    CASTS,
    ("source, result in zip(sources, results)", "source, result, scale in zip(sources, results, scales)"),
    ("scale=1.0", "scales"),
)
IN_PLACE = edited(CASTS, ("values * scale", "values * ct.load(y, (ct.bid(0),), (T,))"))
ONCE = edited(CASTS, ("    for source, result in zip(sources, results):\n", "    if True:\n"))
TWO_AXES = edited(CASTS, ("ct.store(y, (ct.bid(0),)", "ct.store(y, (ct.bid(0) + ct.bid(1),)"))


def _lists(name: str, before: str, after: str | None = None, refused: str = "") -> Example:
    return Example(name, "cast_kernel", "lists", before, after, refused)


EXAMPLES: tuple[Example, ...] = (
    _lists("tensors that are cast one by one", CASTS, BATCHED),
    _lists("the first rows of matrices", FIRST_ROWS, BATCHED_ROWS),
    _lists("pairs", edited(CASTS, *PAIRS), edited(BATCHED, *PAIRS)),
    _lists("batched already", BATCHED, refused="has cast_kernel_batched already"),
    _lists("a loop that does more", CHAINED, refused="does more than launch cast_kernel"),
    _lists("a number for each tensor", EACH_SCALE, refused="more of an item than its tensors"),
    _lists("in place", IN_PLACE, refused="reads and writes y"),
    _lists("launched once", ONCE, refused="no loop of the file launches cast_kernel"),
    _lists("two axes", TWO_AXES, refused="more than one axis of the grid"),
)
