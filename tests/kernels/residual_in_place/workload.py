"""A last tile that is not full, and a single element."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"n": 77}, {"n": 1}, {"n": 64}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape, dtype=torch.float32):
        return torch.randn(shape, generator=generator, device=device).to(dtype)

    return {"x": normal(config["n"]), "y": normal(config["n"])}


def run(module, inputs):
    return module.residual(inputs["x"], inputs["y"], 0.75)


def reference(inputs):
    return inputs["x"].double() + 0.75 * inputs["y"].double()


def bytes_moved(config):
    return 0


def flops(config):
    return 0
