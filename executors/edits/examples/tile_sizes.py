"""What the tile-size edit does and refuses."""

from ..base import Example
from .edited import edited, sized
from .split_rows import EXAMPLES as ROWS_SPLIT
from .tf32_guard import MATMUL as KERNEL

MATMUL = f"""\
import cuda.tile as ct
import torch

TILE_M = 128  # rows of the result
TILE_N = 128
TILE_K = 64{KERNEL.removeprefix("import cuda.tile as ct")}

def matmul(a, b):
    m, n = a.shape[0], b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (ct.cdiv(m, TILE_M), ct.cdiv(n, TILE_N), 1)
    ct.launch(torch.cuda.current_stream(), grid, matmul_kernel, (a, b, c, TILE_M, TILE_N, TILE_K))
    return c
"""

# The wrapper's own default decides, the grid is a tuple in the call, and `load` goes by a name of its own.
DOUBLE = """\
import torch
from cuda.tile import Constant, bid, cdiv, kernel, launch, load, store

ConstInt = Constant[int]


@kernel(occupancy=2)
def double_kernel(x, y, T: ConstInt):
    tile = load(x, (bid(0),), shape=(T,))
    store(y, (bid(0),), tile + tile)


def double(x, block: int = 256):
    y = torch.empty_like(x)
    launch(torch.cuda.current_stream(), (cdiv(x.shape[0], block), 1, 1), double_kernel, (x, y, block))
    return y
"""


def _double(*changes: tuple[str, str]) -> str:
    return edited(DOUBLE, *changes)


LITERAL_GRID = _double(("(cdiv(x.shape[0], block), 1, 1)", "((x.shape[0] + 255) // 256, 1, 1)"))
LITERAL_ARGUMENT = _double(("(x, y, block))", "(x, y, 256))"), ("cdiv(x.shape[0], block)", "cdiv(x.shape[0], 256)"))
TWO_LITERALS = _double(("(x, y, block))", "(x, y, 256))"))
WORKSPACE = _double(
    (
        "    y =",
        "    blocks = cdiv(x.shape[0], block)\n    seen = torch.zeros((blocks,))  # one for each block\n    y =",
    ),
    ("(cdiv(x.shape[0], block), 1, 1)", "(blocks, 1, 1)"),
)
TABLE = _double(
    (", block: int = 256", ", sizes=None"),
    ("    y =", '    sizes = {"block": 256, **(sizes or {})}\n    block = sizes["block"]\n    y ='),
)
DEMANDED = _double(("    y =", "    assert x.shape[0] % block == 0\n    y ="))
SHARED = (
    _double(
        ("ConstInt = Constant[int]\n", "ConstInt = Constant[int]\nBLOCK = 256\n"),
        ("block: int = 256):\n", 'scale: int = 1):\n    """Twice x."""\n'),
        ("x.shape[0], block", "x.shape[0], BLOCK"),
        ("(x, y, block))", "(x, y, BLOCK))"),
    )
    + """

def blocks(x):
    return cdiv(x.shape[0], BLOCK)
"""
)
FROM_DATA = _double(
    ("block: int = 256", ""), ("(x, )", "(x)"), ("    y =", "    block = 1 << (x.shape[0] - 1).bit_length()\n    y =")
)
TUNED = _double(
    (
        "    launch(torch.cuda.current_stream(), (cdiv(x.shape[0], block), 1, 1), double_kernel, (x, y, block))",
        "    best = exhaustive_search(SIZES, stream(), grid_of, double_kernel, lambda size: (x, y, size)).best.config\n"
        "    launch(stream(), grid_of(best), double_kernel, (x, y, best))",
    )
)
ONE_BLOCK_A_ROW = _double(("(cdiv(x.shape[0], block), 1, 1)", "(x.shape[0], 1, 1)"))

UNSEEN = "and the grid is not seen to count them"
SIDES = "TILE_M = 128  # rows of the result\nTILE_N = 128"
TWO_IN_A_LINE = edited(MATMUL, (SIDES, "TILE_M, TILE_N = 128, 256"))


def _doubled(name: str, variant: str, before: str, *changes: tuple[str, str], refused: str = "") -> Example:
    return sized(name, "double_kernel", variant, before, edited(before, *changes) if changes else None, refused=refused)


def _product(name: str, variant: str, before: str, *changes: tuple[str, str]) -> Example:
    return sized(name, "matmul_kernel", variant, before, edited(before, *changes))


EXAMPLES = (
    *ROWS_SPLIT,
    _product(
        "a wide tile gets eight worker warps",
        "tile_m=128,tile_n=256,num_worker_warps=8",
        MATMUL,
        ("TILE_N = 128", "TILE_N = 256"),
        ("@ct.kernel", "@ct.kernel(num_worker_warps=8)"),
    ),
    _product(
        "a smaller and flatter tile, the comment stays",
        "tile_m=64,tile_n=64,tile_k=32",
        MATMUL,
        ("M = 128", "M = 64"),
        ("N = 128", "N = 64"),
        ("K = 64", "K = 32"),
    ),
    _doubled("the default of the wrapper's argument", "block=1024", DOUBLE, ("block: int = 256", "block: int = 1024")),
    _doubled(
        "the grid repeats the literal",
        "block=512",
        LITERAL_GRID,
        ("+ 255) // 256", "+ 511) // 512"),
        ("block: int = 256", "block: int = 512"),
    ),
    _doubled(
        "the literal is passed itself",
        "t=512",
        LITERAL_ARGUMENT,
        ("(x, y, 256)", "(x, y, 512)"),
        ("x.shape[0], 256", "x.shape[0], 512"),
    ),
    _doubled(
        "the number of blocks and a workspace follow by name",
        "block=512",
        WORKSPACE,
        ("block: int = 256", "block: int = 512"),
    ),
    _doubled("a dictionary of the wrapper", "block=1024", TABLE, ('"block": 256', '"block": 1024')),
    _doubled(
        "a constant that another function reads as well", "block=512", SHARED, ('x."""\n', 'x."""\n    BLOCK = 512\n')
    ),
    _doubled(
        "the tile follows the data and the grid the tile",
        "block=1024",
        FROM_DATA,
        ("block = 1 << (x.shape[0] - 1).bit_length()", "block = min(1024, 1 << (x.shape[0] - 1).bit_length())"),
    ),
    _product("two sizes in one line", "tile_m=64", TWO_IN_A_LINE, ("128, 256", "64, 256")),
    _doubled("the grid counts another size", "t=512", TWO_LITERALS, refused=f"blocks number the tiles of T, {UNSEEN}"),
    _doubled("the wrapper demands multiples", "block=512", DEMANDED, refused="demands something of block"),
    _doubled("a tuner chooses", "block=512", TUNED, refused="the launch of double_kernel is autotuned"),
    _doubled(
        "nothing counts tiles of this size",
        "block=512",
        ONE_BLOCK_A_ROW,
        refused=f"blocks number the tiles of block, {UNSEEN}",
    ),
    _doubled(
        "the smaller of two would be another function's",
        "block=1024",
        f"from numpy import *\n{FROM_DATA}",
        refused="may give min another meaning",
    ),
)
