"""Fewer centres than the tile holds."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"points": 21, "centres": 11}, {"points": 8, "centres": 16}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {name: torch.randn(size, generator=generator, device=device) for name, size in config.items()}


def run(module, inputs):
    return module.nearest(inputs["points"], inputs["centres"])


def reference(inputs):
    distances = (inputs["points"][:, None] - inputs["centres"][None, :]).abs()
    return distances.argmin(dim=1).to(torch.int32)
