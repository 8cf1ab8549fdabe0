"""Configurations that a workload does not name but its kernel may meet: other dtypes, awkward shapes.

They are guesses from the entries of `configs()`; which of them mean anything, the unedited kernel says by being right.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

Config = dict[str, Any]
DTYPES = ("float32", "float16", "bfloat16")  # what cuTile kernels take as they are; float8 needs scales
PRIMES = (997, 499, 331, 251, 127, 61, 31, 13, 7, 5, 3, 2)  # small: their references cost next to nothing
BEYOND = 257  # what a larger shape is larger by: a tile of 256 and one element
MOST_SIZES = 3  # entries that are varied one by one


def edges(workload: ModuleType) -> Sequence[Config]:
    """The configurations that the workload names as its edges, if any."""
    return workload.edge_configs() if hasattr(workload, "edge_configs") else ()


def smallest_of(workload: ModuleType) -> Config:
    """What takes least under a tool that watches every access: the smallest of its edges, or of those it is timed in."""
    return min(edges(workload) or workload.configs(), key=workload.bytes_moved)


def other_dtypes(configs: Sequence[Config]) -> Iterator[Config]:
    """The first configuration with each dtype that no configuration names, entry by entry."""
    for name, value in configs[0].items():
        if value in DTYPES:
            named = {config.get(name) for config in configs}
            yield from ({**configs[0], name: dtype} for dtype in DTYPES if dtype not in named)


def edge_shapes(configs: Sequence[Config]) -> Iterator[Config]:
    """Shapes of primes, off every tile, with a 1, and larger than all of `configs`, the first of which is the base.

    What is not varied is a prime, another one for each entry: no two dimensions have one number of tiles.
    """
    sizes = {name: value for name, value in configs[0].items() if type(value) is int and value > 1}
    primes: Config = {}
    for name, value in sizes.items():
        primes[name] = next((p for p in PRIMES if p <= value and p not in primes.values()), 1)
    if sizes:
        yield {**configs[0], **primes}
        yield {**configs[0], **{name: value - 1 for name, value in sizes.items()}}
    for name in list(sizes)[:MOST_SIZES]:
        largest = max(config.get(name, 1) for config in configs)
        for value in (1, largest + BEYOND):
            yield {**configs[0], **primes, name: value}
