"""Examples of B."""

from textwrap import indent

from ..base import Example
from .edited import edited, sized

HEAD = "import cuda.tile as ct\nimport torch\n\n\n"

ROWS = (
    HEAD
    + """\
@ct.kernel
def double(x, y, TILE: ct.Constant[int]):
    row = ct.bid(0)  # one row per block
    values = ct.load(x, index=(row, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(row, 0), tile=values * 2)


def launch(x):
    rows, columns = x.shape
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), double, (x, y, 1024))
    return y
"""
)

SM_COUNT = "    sm_count = torch.cuda.get_device_properties(x.device).multi_processor_count\n"
HINTED = edited(ROWS, ("@ct.kernel", "@ct.kernel(occupancy=2)"), ("    ct.launch", f"{SM_COUNT}    ct.launch"))
ROWS_LOOPED = edited(
    HINTED,
    ("row = ct.bid(0)", "for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):"),
    ("    values", "        values"),
    ("    ct.store", "        ct.store"),
    ("(rows,", "(min(rows, 2 * sm_count),"),
)

COUNTED = (
    HEAD
    + """\
@ct.kernel
def scale(x, y, count: int, TILE: ct.Constant[int]):
    weight = 1.0 / TILE
    index = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    if ct.bid(0) * TILE >= count:
        return
    ct.scatter(y, index, ct.gather(x, index) * weight)


def launch(x, y, count, blocks):
    TILE = 256
    grid = (blocks,)
    ct.launch(torch.cuda.current_stream(), grid, scale, (x, y, count, TILE))
"""
)

COUNTED_LOOPED = edited(
    COUNTED,
    ("TILE: ct.Constant[int])", "TILE: ct.Constant[int], n_items: int)"),
    ("    index = ct.bid(0)", "    for item in range(ct.bid(0), n_items, ct.num_blocks(0)):\n        index = item"),
    ("    if ct.bid(0) * TILE >= count:\n        return\n", "        if not (item * TILE >= count):\n"),
    ("    ct.scatter", "            ct.scatter"),
    ("    grid = (blocks,)", f"    n_items = blocks\n{SM_COUNT}    grid = (min(n_items, sm_count),)"),
    ("count, TILE))", "count, TILE, n_items))"),
)

AXES = "    row, column = ct.bid(0), ct.bid(1)\n"
GRID = "    grid = (ct.cdiv(a.shape[0], tile_m), ct.cdiv(b.shape[1], tile_n))\n"
TILES = """\
    total = ct.full((TM, TN), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        left = ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, index=(row, column), tile=ct.astype(total, c.dtype))
"""
PRODUCT = f"""\
{HEAD}@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
{AXES}{TILES}

def launch(a, b, tile_m=64, tile_n=64, tile_k=64):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
{GRID}    ct.launch(torch.cuda.current_stream(), grid, matmul, (a, b, c, tile_m, tile_n, tile_k))
    return c
"""
LOOP = """\
    blocks_x = ct.cdiv(a.shape[0], TM)
    blocks_y = ct.cdiv(b.shape[1], TN)
    for item in range(ct.bid(0), blocks_x * blocks_y, ct.num_blocks(0)):
        row, column = item % blocks_x, item // blocks_x
"""
FEW_BLOCKS = """\
    sm_count = torch.cuda.get_device_properties(a.device).multi_processor_count
    grid = (min(ct.cdiv(a.shape[0], tile_m) * ct.cdiv(b.shape[1], tile_n), sm_count), 1)
"""
PRODUCT_LOOPED = edited(PRODUCT, (AXES, LOOP), (TILES, indent(TILES, "    ")), (GRID, FEW_BLOCKS))

COUNTER = ROWS.replace("    ct.store", "    place = ct.atomic_add(y, (row, 0), 1)\n    ct.store")
CARRIED = edited(
    ROWS_LOOPED,
    ("    for row", "    total = 0.0\n    for row"),
    ("        ct.store", "        total = total + 1.0\n        ct.store"),
)
UNSEEN = edited(ROWS, ("launch(x)", "launch(x, kernels)"), ("1), double,", "1), kernels[0],"))

INVERSE = "one-item-per-block"

EXAMPLES: tuple[Example, ...] = (
    sized("rows counted by the array", "double", "blocks-per-sm=2", ROWS, ROWS_LOOPED),
    sized("a number told by the launch", "scale", "blocks-per-sm=1", COUNTED, COUNTED_LOOPED),
    sized("two axes of blocks", "matmul", "blocks-per-sm=1", PRODUCT, PRODUCT_LOOPED),
    Example("and back", "double", INVERSE, ROWS_LOOPED, HINTED),
    sized("persistent already", "double", "blocks-per-sm=1", ROWS_LOOPED, refused="loops over its items already"),
    sized("the result of an atomic", "double", "blocks-per-sm=1", COUNTER, refused="blocks may wait"),
    sized("a launch that is not seen", "double", "blocks-per-sm=1", UNSEEN, refused="no launch of double"),
    Example(
        "a value goes to the next item", "double", INVERSE, CARRIED, refused="total goes from one item to the next"
    ),
    Example("nothing to undo", "double", INVERSE, ROWS, refused="no loop over items"),
)
