import cuda.tile as ct
import torch


@ct.kernel
def attend_kernel(q, k, v, out, scale: float, TM: ct.Constant[int], TN: ct.Constant[int], TD: ct.Constant[int]):
    head, block = ct.bid(1), ct.bid(0)
    query = ct.reshape(
        ct.load(q, index=(head, block, 0), shape=(1, TM, TD), padding_mode=ct.PaddingMode.ZERO), (TM, TD)
    )
    largest = ct.full((TM, 1), -1e30, dtype=ct.float32)
    total = ct.full((TM, 1), 0.0, dtype=ct.float32)
    result = ct.full((TM, TD), 0.0, dtype=ct.float32)
    for at in range(ct.cdiv(k.shape[1], TN)):
        key = ct.reshape(ct.load(k, index=(head, at, 0), shape=(1, TN, TD), padding_mode=ct.PaddingMode.ZERO), (TN, TD))
        scores = ct.mma(query, ct.transpose(key), ct.full((TM, TN), 0.0, dtype=ct.float32)) * scale
        inside = at * TN + ct.arange(TN, dtype=ct.int32) < k.shape[1]
        scores = ct.where(ct.reshape(inside, (1, TN)), scores, -1e30)
        new = max(largest, ct.max(scores, axis=1, keepdims=True))
        powers, fade = ct.exp(scores - new), ct.exp(largest - new)
        total = total * fade + ct.sum(powers, axis=1, keepdims=True)
        value = ct.reshape(
            ct.load(v, index=(head, at, 0), shape=(1, TN, TD), padding_mode=ct.PaddingMode.ZERO), (TN, TD)
        )
        result = ct.mma(ct.astype(powers, v.dtype), value, result * fade)
        largest = new
    ct.store(out, index=(head, block, 0), tile=ct.reshape(ct.astype(result / total, out.dtype), (1, TM, TD)))


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(q)
    heads, length, size = q.shape
    grid = (ct.cdiv(length, 16), heads, 1)
    ct.launch(torch.cuda.current_stream(), grid, attend_kernel, (q, k, v, out, size**-0.5, 16, 16, size))
    return out
