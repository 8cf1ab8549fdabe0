"""h = h + sigmoid(gate) (candidate - h) over time, the minimal GRU: 128 channels of a sequence per block, step by step."""

import cuda.tile as ct
import torch

TILE = 128


@ct.kernel
def min_gru_kernel(gates, candidates, states, steps: int, T: ct.Constant[int]):
    sequence, block = ct.bid(0), ct.bid(1)
    state = ct.zeros((1, 1, T), dtype=ct.float32)
    for t in range(steps):
        gate = ct.astype(ct.load(gates, index=(sequence, t, block), shape=(1, 1, T)), ct.float32)
        candidate = ct.astype(ct.load(candidates, index=(sequence, t, block), shape=(1, 1, T)), ct.float32)
        update = 1.0 / (1.0 + ct.exp(-gate))
        state = (1.0 - update) * state + update * candidate
        ct.store(states, index=(sequence, t, block), tile=ct.astype(state, states.dtype))


def min_gru(gates: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
    sequences, steps, channels = gates.shape
    states = torch.empty_like(gates)
    grid = (sequences, ct.cdiv(channels, TILE), 1)
    ct.launch(torch.cuda.current_stream(), grid, min_gru_kernel, (gates, candidates, states, steps, TILE))
    return states
