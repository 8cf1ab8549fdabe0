"""GELU with a bias, after the first linear layer of a feed-forward block."""

import torch

KERNEL_FILE = "gelu_bias.py"


def configs():
    return [{"rows": 16384, "columns": 5632}]


def edge_configs():
    return [{"rows": 13, "columns": 300}, {"rows": 1, "columns": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    x = torch.randn((config["rows"], config["columns"]), generator=generator, device=device)
    bias = torch.randn(config["columns"], generator=generator, device=device)
    return {"x": x.bfloat16(), "bias": bias.bfloat16()}


def run(module, inputs):
    return module.gelu_bias(inputs["x"], inputs["bias"])


def reference(inputs):
    return torch.nn.functional.gelu(inputs["x"].double() + inputs["bias"].double(), approximate="tanh")


def bytes_moved(config):
    return 2 * config["columns"] * (2 * config["rows"] + 1)


def flops(config):
    return 10 * config["rows"] * config["columns"]


def tolerance(config):
    return 8e-3
