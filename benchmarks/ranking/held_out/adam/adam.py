"""A step of Adam with decoupled weight decay, 512 elements per block; the new values go to arrays of their own."""

import cuda.tile as ct
import torch

TILE = 512
BETA1 = 0.9
BETA2 = 0.999
EPS = 1e-8
DECAY = 0.01


@ct.kernel
def adam_kernel(
    p, g, m, v, new_p, new_m, new_v, rate: float, correction1: float, correction2: float, T: ct.Constant[int]
):
    i = ct.bid(0)
    gradient = ct.load(g, index=(i,), shape=(T,))
    first = BETA1 * ct.load(m, index=(i,), shape=(T,)) + (1 - BETA1) * gradient
    second = BETA2 * ct.load(v, index=(i,), shape=(T,)) + (1 - BETA2) * gradient * gradient
    step = first / correction1 / (ct.sqrt(second / correction2) + EPS)
    value = ct.load(p, index=(i,), shape=(T,))
    ct.store(new_p, index=(i,), tile=value - rate * (step + DECAY * value))
    ct.store(new_m, index=(i,), tile=first)
    ct.store(new_v, index=(i,), tile=second)


def adam(
    p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, rate: float, step: int
) -> tuple[torch.Tensor, ...]:
    new = tuple(torch.empty_like(p) for _ in range(3))
    arguments = (p, g, m, v, *new, rate, 1 - BETA1**step, 1 - BETA2**step, TILE)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(p.numel(), TILE), 1, 1), adam_kernel, arguments)
    return new
