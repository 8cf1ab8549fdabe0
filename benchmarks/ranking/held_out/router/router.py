"""The expert of each token and its softmax weight, 16 tokens per block."""

import cuda.tile as ct
import torch

TOKENS = 16


@ct.kernel
def router_kernel(logits, weights, experts, T: ct.Constant[int], E: ct.Constant[int]):
    block = ct.bid(0)
    values = ct.load(logits, index=(block, 0), shape=(T, E))
    exponentials = ct.exp(values - ct.max(values, axis=1, keepdims=True))
    probabilities = exponentials / ct.sum(exponentials, axis=1, keepdims=True)
    ct.store(weights, index=(block,), tile=ct.max(probabilities, axis=1))
    ct.store(experts, index=(block,), tile=ct.astype(ct.argmax(values, axis=1), ct.int32))


def router(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    tokens, width = logits.shape
    weights = torch.empty(tokens, dtype=torch.float32, device=logits.device)
    experts = torch.empty(tokens, dtype=torch.int32, device=logits.device)
    arguments = (logits, weights, experts, TOKENS, width)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(tokens, TOKENS), 1, 1), router_kernel, arguments)
    return weights, experts
