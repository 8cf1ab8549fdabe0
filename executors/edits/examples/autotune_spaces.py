"""Examples of C on kernels that are searched already."""

from textwrap import indent

from ..base import Example
from .edited import edited

KERNEL = """\
@ct.kernel
def product(a, b, c, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TILE_M, TILE_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, 1, (TILE_M, TILE_K))):
        left = ct.load(a, (row, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), shape=(TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left.astype(ct.tfloat32), right.astype(ct.tfloat32), total)
    ct.store(c, (row, column), total)
"""
IMPORTS = """\
from types import SimpleNamespace

import cuda.tile as ct
import torch


"""
SEARCH = """\


def configurations():
    for n in (64, 256):
        for ctas in (1, 2):
            yield SimpleNamespace(TILE_M=128, TILE_N=n, TILE_K=32, num_ctas=ctas, occupancy=1)
    yield SimpleNamespace(TILE_M=256, TILE_N=256, TILE_K=32, num_ctas=1, occupancy=1)


"""
SEARCHED = """\
        result = ct.tune.exhaustive_search(
            list(configurations()),
            stream,
            lambda cfg: (ct.cdiv(c.shape[0], cfg.TILE_M), ct.cdiv(c.shape[1], cfg.TILE_N)),
            product,
            lambda cfg: (a, b, c, cfg.TILE_M, cfg.TILE_N, cfg.TILE_K),
            lambda cfg: {"num_ctas": cfg.num_ctas, "occupancy": cfg.occupancy},
        )
        best = result.best.config
"""
RUN = f"""\
def run(a, b, c):
    stream = torch.cuda.current_stream()
    key = (a.shape, b.shape, a.dtype, a.device)
    if key not in FOUND:
{SEARCHED}\
        FOUND[key] = best, product.replace_hints(num_ctas=best.num_ctas, occupancy=best.occupancy)
    best, kernel = FOUND[key]
    grid = (ct.cdiv(c.shape[0], best.TILE_M), ct.cdiv(c.shape[1], best.TILE_N))
    ct.launch(stream, grid, kernel, (a, b, c, best.TILE_M, best.TILE_N, best.TILE_K))
"""
BEFORE = IMPORTS + "FOUND = {}\n\n\n" + KERNEL + SEARCH + RUN
WIDEN = '''\
def _widened_product(configs):
    """The configurations, then the same with other occupancies and eight warps for wide tiles. On sm_90 only."""
    if torch.cuda.get_device_capability() != (9, 0):
        return configs
    others = []
    for config in configs:
        others += [type(config)(**{**vars(config), "occupancy": value}) for value in (1, 2, 4)]
    wide = [config for config in (*configs, *others) if config.TILE_M * config.TILE_N >= 32768]
    others += [type(config)(**{**vars(config), "num_worker_warps": 8}) for config in wide]
    found = list(configs)
    for config in others:
        if config not in found:
            found.append(config)
    return found


def run('''
WIDE = edited(
    BEFORE,
    ("def run(", WIDEN),
    ("list(configurations())", "_widened_product(list(configurations()))"),
    (": cfg.occupancy}", ': cfg.occupancy, "num_worker_warps": getattr(cfg, "num_worker_warps", None)}'),
    ("=best.occupancy)", '=best.occupancy, num_worker_warps=getattr(best, "num_worker_warps", None))'),
)
NARROWED = '''\
def _narrowed_product(configs):
    """Without accumulators that four warps would spill and without repetitions. On sm_90 only."""
    if torch.cuda.get_device_capability() != (9, 0):
        return configs
    kept = []
    for config in configs:
        if config.TILE_M * config.TILE_N <= 32768 * config.num_ctas and config not in kept:
            kept.append(config)
    return kept or configs


def run('''
NARROW = edited(BEFORE, ("def run(", NARROWED), ("list(configurations())", "_narrowed_product(list(configurations()))"))
FROZEN = edited(
    BEFORE,
    (
        "def run(",
        "# What the search for product found on sm_90.\n"
        "_PRODUCT_FROZEN = SimpleNamespace(TILE_M=128, TILE_N=256, TILE_K=32, num_ctas=2, occupancy=1)\n\n\ndef run(",
    ),
    (
        SEARCHED,
        "        if _PRODUCT_FROZEN in list(configurations()):\n            best = _PRODUCT_FROZEN\n        else:\n"
        + indent(SEARCHED, "    "),
    ),
)
CONFIGURATION = {"TILE_M": 128, "TILE_N": 256, "TILE_K": 32, "num_ctas": 2, "occupancy": 1}
USED = BEFORE.replace("best = result.best.config", "print(result)\n        best = result.best.config")
FIXED = BEFORE.replace("occupancy=best.occupancy", "occupancy=2")
SMALL = BEFORE.replace("(64, 256)", "(64,)").replace("TILE_N=256", "TILE_N=64")

EXAMPLES: tuple[Example, ...] = (
    Example("a wider space", "product", "widen", BEFORE, WIDE),
    Example("a narrower space", "product", "narrow", BEFORE, NARROW),
    Example("what was found", "product", "freeze", BEFORE, FROZEN, settings=CONFIGURATION),
    Example("nothing found", "product", "freeze", BEFORE, refused="no captured launch says which"),
    Example("a field too few", "product", "freeze", BEFORE, refused="differ in", settings={"TILE_M": 64}),
    Example("a result in use", "product", "freeze", USED, refused="not taken in the", settings=CONFIGURATION),
    Example("a fixed occupancy", "product", "widen", FIXED, refused="does not take the kernel's occupancy"),
    Example("nothing to drop", "product", "narrow", SMALL, refused="no configuration of the search would be"),
)
