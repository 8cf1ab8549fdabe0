"""Examples of K."""

from kdiag.executors.edits.base import Example
from kdiag.executors.edits.examples.edited import edited

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

BATCHED = '''\
import cuda.tile as ct
import torch

TILE = 1024


@ct.kernel
def cast_kernel(x, y, scale: float, T: ct.Constant[int]):
    """Scale a vector and give it another type."""
    values = ct.load(x, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), ct.astype(values * scale, y.dtype))


@ct.kernel
def cast_kernel_batched(x_items, y_items, scale: float, T: ct.Constant[int]):
    item = ct.bid(1)
    x = x_items[item]
    y = y_items[item]
    if ct.bid(0) < ct.cdiv(x.shape[0], T):
        values = ct.load(x, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, (ct.bid(0),), ct.astype(values * scale, y.dtype))


def _may_run_together(items, written):
    """Whether one launch may do what one launch an item does: alike, and no item writes what another one uses."""
    columns = list(zip(*items))
    if not 1 < len(items) <= 65535 or any(
        len({(array.dtype, array.ndim, array.device) for array in column}) != 1 for column in columns
    ):
        return False
    spans = []
    for at, column in enumerate(columns):
        for array in column:
            if array.numel() == 0:
                return False
            last = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.stride()))
            start = array.data_ptr()
            spans.append((start, start + (last + 1) * array.element_size(), at in written))
    any_end = written_end = 0
    for start, end, writes in sorted(spans):
        if start < written_end or (writes and start < any_end):
            return False
        any_end = max(any_end, end)
        written_end = max(written_end, end) if writes else written_end
    return True


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
'''


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

EXAMPLES: tuple[Example, ...] = (
    Example("tensors that are cast one by one", "cast_kernel", "lists", CASTS, BATCHED),
    Example("the first rows of matrices", "cast_kernel", "lists", FIRST_ROWS, BATCHED_ROWS),
    Example("pairs", "cast_kernel", "lists", edited(CASTS, *PAIRS), edited(BATCHED, *PAIRS)),
    Example("batched already", "cast_kernel", "lists", BATCHED, refused="has cast_kernel_batched already"),
    Example(
        "a loop that does more", "cast_kernel", "lists", CHAINED, refused="does more than launch cast_kernel"
    ),
    Example(
        "a number for each tensor",
        "cast_kernel",
        "lists",
        EACH_SCALE,
        refused="more of an item than its tensors",
    ),
    Example("in place", "cast_kernel", "lists", IN_PLACE, refused="reads and writes y"),
    Example(
        "launched once", "cast_kernel", "lists", ONCE, refused="no loop of the file launches cast_kernel"
    ),
    Example("two axes", "cast_kernel", "lists", TWO_AXES, refused="more than one axis of the grid"),
)
