import cuda.tile as ct
import torch


@ct.kernel
def copies_kernel(x, y, TILE: ct.Constant[int]):
    at = ct.bid(0)
    ct.store(y, index=(at,), tile=ct.load(x, index=(at,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))


def copies(parts: list[torch.Tensor]) -> list[torch.Tensor]:
    results = [torch.empty_like(part) for part in parts]
    for part, result in zip(parts, results, strict=True):
        grid = (ct.cdiv(part.shape[0], 64), 1, 1)
        ct.launch(torch.cuda.current_stream(), grid, copies_kernel, (part, result, 64))
    return results
