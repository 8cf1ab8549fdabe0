"""Cross-entropy loss of each token: a pass over its logits for the largest, another for the sum of exponentials."""

import cuda.tile as ct
import torch

TILE = 512


@ct.kernel
def cross_entropy_kernel(logits, targets, loss, vocabulary: int, T: ct.Constant[int]):
    token = ct.bid(0)
    tiles = ct.cdiv(vocabulary, T)
    largest = ct.full((1,), -float("inf"), dtype=ct.float32)
    for j in range(tiles):
        values = ct.load(logits, index=(token, j), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
        inside = j * T + ct.arange(T, dtype=ct.int32) < vocabulary
        values = ct.where(inside[None, :], values, -float("inf"))
        largest = ct.maximum(largest, ct.max(values, axis=1))
    total = ct.zeros((1,), dtype=ct.float32)
    for j in range(tiles):
        values = ct.load(logits, index=(token, j), shape=(1, T), padding_mode=ct.PaddingMode.ZERO)
        inside = j * T + ct.arange(T, dtype=ct.int32) < vocabulary
        exponentials = ct.where(inside[None, :], ct.exp(values - largest), 0.0)
        total = total + ct.sum(exponentials, axis=1)
    target = ct.load(targets, index=(token,), shape=(1,))
    chosen = ct.gather(logits, (token, target))
    ct.store(loss, index=(token,), tile=ct.log(total) + largest - chosen)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    tokens, vocabulary = logits.shape
    loss = torch.empty(tokens, dtype=torch.float32, device=logits.device)
    arguments = (logits, targets, loss, vocabulary, TILE)
    ct.launch(torch.cuda.current_stream(), (tokens, 1, 1), cross_entropy_kernel, arguments)
    return loss
