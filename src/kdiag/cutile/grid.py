"""The grid of a launch as numbers of blocks."""

from typing import Any

from kdiag.errors import WorkloadError

LARGEST = 2**24 - 1  # of a size that cuda.tile launches


def grid_of(name: str, grid: Any) -> tuple[int, ...]:
    """One to three sizes; an empty tuple is one block.

    Raises WorkloadError for a grid on which the kernel `name` cannot be launched.
    """
    sizes = (tuple(map(int, grid)) or (1,)) if isinstance(grid, tuple | list) else (int(grid),)
    if len(sizes) > 3 or not all(1 <= size <= LARGEST for size in sizes):
        raise WorkloadError(
            f"{name} is launched on the grid {sizes}; at most three sizes, from 1 to {LARGEST}, are possible."
        )
    return sizes
