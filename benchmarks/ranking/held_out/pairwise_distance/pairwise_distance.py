"""|a - b|^2 = |a|^2 + |b|^2 - 2 a.b for every pair: a 32x32 tile per block, the norms in the same loop."""

import cuda.tile as ct
import torch

TILE = 32


@ct.kernel
def pairwise_distance_kernel(a, b, y, T: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    products = ct.zeros((T, T), dtype=ct.float32)
    a_norms = b_norms = ct.zeros((T, 1), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(T, T))):
        a_tile = ct.load(a, index=(row, k), shape=(T, T), padding_mode=zero)
        b_tile = ct.load(b, index=(column, k), shape=(T, T), padding_mode=zero)
        products = ct.mma(a_tile, ct.transpose(b_tile), products)
        a_wide, b_wide = ct.astype(a_tile, ct.float32), ct.astype(b_tile, ct.float32)
        a_norms = a_norms + ct.sum(a_wide * a_wide, axis=1, keepdims=True)
        b_norms = b_norms + ct.sum(b_wide * b_wide, axis=1, keepdims=True)
    distances = a_norms + ct.transpose(b_norms) - 2.0 * products
    ct.store(y, index=(row, column), tile=ct.maximum(distances, 0.0))


def pairwise_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    n, m = a.shape[0], b.shape[0]
    y = torch.empty((n, m), dtype=torch.float32, device=a.device)
    grid = (ct.cdiv(n, TILE), ct.cdiv(m, TILE), 1)
    ct.launch(torch.cuda.current_stream(), grid, pairwise_distance_kernel, (a, b, y, TILE))
    return y
