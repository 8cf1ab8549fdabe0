"""Examples of C: fixed launches that become searches. Those of searches are in `autotune_spaces` and `autotune_legacy`."""

from ..base import Example
from ..launches.search_template import COPY
from .autotune_legacy import EXAMPLES as OLD
from .autotune_spaces import EXAMPLES as SPACES
from .edited import edited

HEAD = """\
import cuda.tile as ct
import torch


@ct.kernel
def negate(x, y, n: int, T: ct.Constant[int]):
    tile = ct.bid(0)
    ct.store(y, (tile,), -ct.load(x, (tile,), shape=(T,), padding_mode=ct.PaddingMode.ZERO))
"""
BEFORE = (
    HEAD
    + """\


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    TILE = 1024
    grid = (ct.cdiv(n, TILE), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, negate, (x, y, n, TILE))  # one tile a block
    return y
"""
)
ROWS = """\
    (None, None),
    (2, None),
    (4, None),
    (8, None),
    (16, None),
    (None, 4),
    (None, 8),
"""
HINTS_OF = """\
    def hints_of(config):
        return dict(zip(("occupancy", "num_worker_warps"), config))

"""
HINTS = (
    HEAD
    + """\


# occupancy, num_worker_warps of negate, first as it was before the search.
_NEGATE_SPACE = (
"""
    + ROWS
    + '''\
)
_NEGATE_TUNED = {}


def _launch_tuned_negate(stream, grid, arguments):
    """Launch negate with the hints that are fastest for such arrays and constants.

    They are searched for once, on copies of the arrays that the kernel may write, and the kernel object is kept.
    """

'''
    + COPY
    + """\

    def scratch(config):
        return tuple(
            copy(value) if at in (1,) and isinstance(value, torch.Tensor) else value
            for at, value in enumerate(arguments)
        )

"""
    + HINTS_OF
    + """\
    key = (
        tuple(grid),
        tuple((a.shape, a.stride(), a.dtype, a.device) for a in arguments if isinstance(a, torch.Tensor)),
        tuple(arguments[at] for at in (3,)),
    )
    known = all(isinstance(value, (torch.Tensor, int, float)) for value in arguments)
    searchable = known and all(grid) and not torch.cuda.is_current_stream_capturing()
    if searchable and key not in _NEGATE_TUNED:
        result = ct.tune.exhaustive_search(
            _NEGATE_SPACE,
            stream,
            lambda config: grid,
            negate,
            scratch,
            hints_of,
            quiet=True,
        )
        config = result.best.config
        _NEGATE_TUNED[key] = config, negate.replace_hints(**hints_of(config))
    config, kernel = _NEGATE_TUNED.get(key, (_NEGATE_SPACE[0], negate))
    ct.launch(stream, grid, kernel, arguments)


def run(x):
    y = torch.empty_like(x)
    n = x.numel()
    TILE = 1024
    grid = (ct.cdiv(n, TILE), 1, 1)
    _launch_tuned_negate(torch.cuda.current_stream(), grid, (x, y, n, TILE))  # one tile a block
    return y
"""
)
TILES = edited(
    HINTS,
    ("# occupancy, num_worker_warps of", "# TILE of"),
    (ROWS, "    (1024,),\n    (2048,),\n    (4096,),\n    (512,),\n"),
    ("(stream, grid, arguments):", "(stream, grid_of, arguments_of):"),
    ("with the hints", "with the tile sizes"),
    ("enumerate(arguments)", "enumerate(arguments_of(*config[:1]))"),
    (HINTS_OF, "    grid, arguments = grid_of(*_NEGATE_SPACE[0][:1]), arguments_of(*_NEGATE_SPACE[0][:1])\n"),
    ("lambda config: grid,", "lambda config: grid_of(*config[:1]),"),
    ("            hints_of,\n", ""),
    ("negate.replace_hints(**hints_of(config))", "negate"),
    ("(stream, grid, kernel, arguments)", "(stream, grid_of(*config[:1]), kernel, arguments_of(*config[:1]))"),
    ("    TILE = 1024\n    grid = (ct.cdiv(n, TILE), 1, 1)\n", ""),
    ("(), grid, (x", "(), lambda TILE: (ct.cdiv(n, TILE), 1, 1), lambda TILE: (x"),
)
STREAM = BEFORE.replace("def run(x)", "def run(x, stream)").replace("torch.cuda.current_stream()", "stream")
TUNED = BEFORE + "\n\nfaster = negate.replace_hints(occupancy=4)\n"
LITERAL = BEFORE.replace("negate, (x, y, n, TILE)", "negate, (x, y, n, 1024)")
ELSEWHERE = BEFORE.replace("    return y", "    print(TILE)\n    return y")
WITHOUT_TORCH = (
    HEAD.replace("import torch\n", "")
    + """\


def run(x, y):
    from torch import cuda
    ct.launch(cuda.current_stream(), (1,), negate, (x, y, 64, 64))
"""
)
DEFAULT = BEFORE.replace("def run(x)", "def run(x, TILE=1024)").replace("    TILE = 1024\n", "")

EXAMPLES: tuple[Example, ...] = (
    Example("hints of a fixed launch", "negate", "hints", BEFORE, HINTS),
    Example("tile sizes of a fixed launch", "negate", "tiles", BEFORE, TILES),
    Example("a stream of the caller", "negate", "hints", STREAM, refused="not certainly on torch.cuda"),
    Example("hints set at run time", "negate", "hints", TUNED, refused="is tuned already"),
    Example(
        "a literal tile",
        "negate",
        "tiles",
        LITERAL,
        refused="blocks number the tiles of T, and the grid is not seen to count them",
    ),
    Example("a tile used elsewhere", "negate", "tiles", ELSEWHERE, refused="decides more than the grid"),
    Example("a tile that callers choose", "negate", "tiles", DEFAULT, refused="its caller chooses it"),
    Example("no torch", "negate", "hints", WITHOUT_TORCH, refused="not certainly on torch.cuda"),
    *SPACES,
    *OLD,
)
