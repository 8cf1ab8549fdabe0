"""Examples of C on the tuner of cuda.tile_experimental."""

from ..base import Example
from ..launches.search_template import COPY
from .autotune_spaces import IMPORTS, KERNEL, SEARCH

LEGACY = (
    IMPORTS.replace("import torch\n", "import torch\nfrom cuda.tile_experimental import autotune_launch\n")
    + KERNEL
    + SEARCH
    + """\
def run(a, b, c):
    autotune_launch(
        torch.cuda.current_stream(),
        grid_fn=lambda cfg: (ct.cdiv(c.shape[0], cfg.TILE_M), ct.cdiv(c.shape[1], cfg.TILE_N)),
        kernel=product,
        args_fn=lambda cfg: (a, b, c, cfg.TILE_M, cfg.TILE_N, cfg.TILE_K),
        hints_fn=lambda cfg: {"num_ctas": cfg.num_ctas, "occupancy": cfg.occupancy},
        max_iter=20,
        search_space=configurations,  # all of them
    )
"""
)
MODERN = (
    IMPORTS
    + KERNEL
    + SEARCH.removesuffix("\n\n")
    + '''\


_PRODUCT_TUNED = {}


def _launch_tuned_product(stream, grid_fn, args_fn, search_space, launch_args_fn=None, hints_fn=None):
    """Launch product with the configuration that is fastest for such arrays and constants.

    It is searched for once and kept with its kernel object. The search runs on what `args_fn` gives; without
    `launch_args_fn` these are the arrays of the launch, and those that the kernel may write are copied.
    """

'''
    + COPY
    + """\

    def scratch(config):
        if launch_args_fn is not None:
            return args_fn(config)
        return tuple(
            copy(value) if at in (2,) and isinstance(value, torch.Tensor) else value
            for at, value in enumerate(args_fn(config))
        )

    space = tuple(search_space() if callable(search_space) else search_space)
    arguments = (launch_args_fn or args_fn)(space[0])
    key = (
        tuple(grid_fn(space[0])),
        tuple((a.shape, a.stride(), a.dtype, a.device) for a in arguments if isinstance(a, torch.Tensor)),
        tuple(arguments[at] for at in (3, 4, 5)),
    )
    if key not in _PRODUCT_TUNED:
        result = ct.tune.exhaustive_search(
            space, stream, grid_fn, product, scratch, hints_fn, quiet=True
        )
        config = result.best.config
        _PRODUCT_TUNED[key] = config, product.replace_hints(**(hints_fn(config) if hints_fn else {}))
    config, kernel = _PRODUCT_TUNED[key]
    ct.launch(stream, grid_fn(config), kernel, (launch_args_fn or args_fn)(config))


def run(a, b, c):
    _launch_tuned_product(
        stream=torch.cuda.current_stream(),
        grid_fn=lambda cfg: (ct.cdiv(c.shape[0], cfg.TILE_M), ct.cdiv(c.shape[1], cfg.TILE_N)),
        args_fn=lambda cfg: (a, b, c, cfg.TILE_M, cfg.TILE_N, cfg.TILE_K),
        hints_fn=lambda cfg: {"num_ctas": cfg.num_ctas, "occupancy": cfg.occupancy},
        search_space=configurations,  # all of them
    )
"""
)
KEYED = LEGACY.replace("max_iter=20", "key=1")
RETURNED = LEGACY.replace("    autotune_launch(", "    return autotune_launch(")

EXAMPLES: tuple[Example, ...] = (
    Example("the old tuner", "product", "legacy-to-modern", LEGACY, MODERN),
    Example("a key", "product", "legacy-to-modern", KEYED, refused="gets key, which the search has not"),
    Example("a result", "product", "legacy-to-modern", RETURNED, refused="result of autotune_launch is used"),
)
