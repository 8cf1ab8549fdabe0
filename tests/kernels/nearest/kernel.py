"""For each point the nearest of some centres: the first of those that are equally near."""

import cuda.tile as ct
import torch

TILE_P, TILE_C = 8, 16


@ct.kernel
def nearest_kernel(points, centres, nearest, count: int, TP: ct.Constant[int], TC: ct.Constant[int]):
    block = ct.bid(0)
    numbers = ct.arange(TC, dtype=ct.int32)
    mine = ct.load(points, index=(block,), shape=(TP,), padding_mode=ct.PaddingMode.ZERO)
    theirs = ct.gather(centres, numbers, check_bounds=True)
    distances = ct.abs(mine[:, None] - theirs[None, :])
    distances = ct.where((numbers < count)[None, :], distances, float("inf"))
    ct.store(nearest, index=(block,), tile=ct.argmin(distances, axis=1))


def nearest(points: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    found = torch.empty(points.shape, dtype=torch.int32, device=points.device)
    grid = (ct.cdiv(points.numel(), TILE_P), 1, 1)
    arguments = (points, centres, found, centres.numel(), TILE_P, TILE_C)
    ct.launch(torch.cuda.current_stream(), grid, nearest_kernel, arguments)
    return found
