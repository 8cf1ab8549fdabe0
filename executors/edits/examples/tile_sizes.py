"""What the tile-size edit does and refuses."""

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

EXAMPLES = (
    *ROWS_SPLIT,
    sized(
        "a wide tile gets eight worker warps",
        "matmul_kernel",
        "tile_m=128,tile_n=256,num_worker_warps=8",
        MATMUL,
        edited(MATMUL, ("TILE_N = 128", "TILE_N = 256"), ("@ct.kernel", "@ct.kernel(num_worker_warps=8)")),
    ),
    sized(
        "a smaller and flatter tile, the comment stays",
        "matmul_kernel",
        "tile_m=64,tile_n=64,tile_k=32",
        MATMUL,
        edited(MATMUL, ("M = 128", "M = 64"), ("N = 128", "N = 64"), ("K = 64", "K = 32")),
    ),
    sized(
        "the default of the wrapper's argument",
        "double_kernel",
        "block=1024",
        DOUBLE,
        _double(("block: int = 256", "block: int = 1024")),
    ),
    sized(
        "the grid repeats the literal",
        "double_kernel",
        "block=512",
        LITERAL_GRID,
        edited(LITERAL_GRID, ("+ 255) // 256", "+ 511) // 512"), ("block: int = 256", "block: int = 512")),
    ),
    sized(
        "the literal is passed itself",
        "double_kernel",
        "t=512",
        LITERAL_ARGUMENT,
        edited(LITERAL_ARGUMENT, ("(x, y, 256)", "(x, y, 512)"), ("x.shape[0], 256", "x.shape[0], 512")),
    ),
    sized(
        "the number of blocks and a workspace follow by name",
        "double_kernel",
        "block=512",
        WORKSPACE,
        edited(WORKSPACE, ("block: int = 256", "block: int = 512")),
    ),
    sized(
        "a dictionary of the wrapper",
        "double_kernel",
        "block=1024",
        TABLE,
        edited(TABLE, ('"block": 256', '"block": 1024')),
    ),
    sized(
        "a constant that another function reads as well",
        "double_kernel",
        "block=512",
        SHARED,
        edited(SHARED, ('x."""\n', 'x."""\n    BLOCK = 512\n')),
    ),
    sized(
        "the tile follows the data and the grid the tile",
        "double_kernel",
        "block=1024",
        FROM_DATA,
        edited(
            FROM_DATA,
            ("block = 1 << (x.shape[0] - 1).bit_length()", "block = min(1024, 1 << (x.shape[0] - 1).bit_length())"),
        ),
    ),
    sized(
        "two sizes in one line",
        "matmul_kernel",
        "tile_m=64",
        edited(MATMUL, ("TILE_M = 128  # rows of the result\nTILE_N = 128", "TILE_M, TILE_N = 128, 256")),
        edited(MATMUL, ("TILE_M = 128  # rows of the result\nTILE_N = 128", "TILE_M, TILE_N = 64, 256")),
    ),
    sized(
        "the grid counts another size",
        "double_kernel",
        "t=512",
        TWO_LITERALS,
        refused="blocks number the tiles of T, and the grid is not seen to count them",
    ),
    sized(
        "the wrapper demands multiples", "double_kernel", "block=512", DEMANDED, refused="demands something of block"
    ),
    sized("a tuner chooses", "double_kernel", "block=512", TUNED, refused="the launch of double_kernel is autotuned"),
    sized(
        "nothing counts tiles of this size",
        "double_kernel",
        "block=512",
        ONE_BLOCK_A_ROW,
        refused="blocks number the tiles of block, and the grid is not seen to count them",
    ),
    sized(
        "the smaller of two would be another function's",
        "double_kernel",
        "block=1024",
        f"from numpy import *\n{FROM_DATA}",
        refused="may give min another meaning",
    ),
)
