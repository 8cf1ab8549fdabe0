"""Fewer centres than the tile holds."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"points": 21, "centres": 11}, {"points": 8, "centres": 16}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device)

    return {"points": normal(config["points"]), "centres": normal(config["centres"])}


def run(module, inputs):
    return module.nearest(inputs["points"], inputs["centres"])


def reference(inputs):
    distances = (inputs["points"][:, None] - inputs["centres"][None, :]).abs()
    return distances.argmin(dim=1).to(torch.int32)
