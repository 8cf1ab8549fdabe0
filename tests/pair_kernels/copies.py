import cuda.tile as ct
import torch


@ct.kernel
def copies_kernel(x, y, TILE: ct.Constant[int]):
    at = ct.bid(0)
    ct.store(y, index=(at,), tile=ct.load(x, index=(at,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))


def copies(parts: list[torch.Tensor], results: list[torch.Tensor]) -> None:
    for part, result in zip(parts, results, strict=True):
        n = part.shape[0]
        ct.launch(torch.cuda.current_stream(), (ct.cdiv(n, 64), 1, 1), copies_kernel, (part, result, 64))
