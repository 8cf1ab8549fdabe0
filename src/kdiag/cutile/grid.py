"""The grid of a launch as numbers of blocks."""

from __future__ import annotations

from typing import Any

from kdiag.errors import WorkloadError


def grid_of(name: str, grid: Any) -> tuple[int, ...]:
    """One to three sizes. Raises WorkloadError for a grid on which the kernel `name` cannot be launched."""
    sizes = tuple(map(int, grid)) if isinstance(grid, tuple | list) else (int(grid),)
    if not 1 <= len(sizes) <= 3 or any(size < 1 for size in sizes):
        raise WorkloadError(
            f"{name} is launched on the grid {sizes}; one to three sizes of at least 1 are needed."
        )
    return sizes
