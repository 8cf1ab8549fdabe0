"""A stencil over 64 Mi elements."""

import torch

KERNEL_FILE = "stencil.py"


def configs():
    return [{"n": 1 << 26}]


def edge_configs():
    return [{"n": 1}, {"n": 4099}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {"x": torch.randn(config["n"], generator=generator, device=device)}


def run(module, inputs):
    return module.stencil(inputs["x"])


def reference(inputs):
    x = torch.nn.functional.pad(inputs["x"].double(), (1, 1))
    return (x[:-2] + 2 * x[1:-1] + x[2:]) / 4


def bytes_moved(config):
    return 2 * 4 * config["n"]


def flops(config):
    return 4 * config["n"]


def tolerance(config):
    return 1e-5
