"""The decays of a linear-attention layer summed along the sequence, a row for each sequence and channel."""

import torch

KERNEL_FILE = "running_sum.py"


def configs():
    return [{"rows": 4096, "columns": 32768}]


def edge_configs():
    return [{"rows": 3, "columns": 2500}, {"rows": 1, "columns": 33}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {"x": torch.randn((config["rows"], config["columns"]), generator=generator, device=device)}


def run(module, inputs):
    return module.running_sum(inputs["x"])


def reference(inputs):
    return inputs["x"].double().cumsum(dim=1)


def bytes_moved(config):
    return 2 * 4 * config["rows"] * config["columns"]


def flops(config):
    return config["rows"] * config["columns"]


def tolerance(config):
    return 1e-5
