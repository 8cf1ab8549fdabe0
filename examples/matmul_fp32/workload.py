"""How to run, check and judge the fp32 matrix product."""

import torch

KERNEL_FILE = "matmul.py"


def configs():
    return [{"m": 2048, "n": 2048, "k": 2048, "dtype": "float32"}]


def edge_configs():
    """Checked, never timed: no dimension a multiple of its tile, and one smaller than it."""
    return [{"m": 333, "n": 517, "k": 259, "dtype": "float32"}, {"m": 40, "n": 1024, "k": 16, "dtype": "float32"}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    dtype = getattr(torch, config["dtype"])
    a = torch.randn((config["m"], config["k"]), generator=generator, device=device).to(dtype)
    b = torch.randn((config["k"], config["n"]), generator=generator, device=device).to(dtype)
    return {"a": a, "b": b}


def run(module, inputs):
    return module.matmul(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() @ inputs["b"].double()


def bytes_moved(config):
    size = 4
    return size * (config["m"] * config["k"] + config["k"] * config["n"] + config["m"] * config["n"])


def flops(config):
    return 2 * config["m"] * config["n"] * config["k"]


def tolerance(config):
    """TF32 keeps 10 bits of each operand: about 1e-3 of the result's spread is what the caller accepts."""
    return 1e-2
