"""Activations of a feed-forward block to int8, a scale per token: 12288 tokens, 11008 channels, bfloat16."""

import torch

KERNEL_FILE = "quantize_rows.py"


def configs():
    return [{"rows": 12288, "columns": 11008}]


def edge_configs():
    return [{"rows": 37, "columns": 1009}, {"rows": 3, "columns": 17}, {"rows": 1, "columns": 1}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    x = torch.randn((config["rows"], config["columns"]), generator=generator, device=device).clamp_(-3, 3)
    spread = 0.1 + 4 * torch.rand((config["rows"], 1), generator=generator, device=device)
    return {"x": (x * spread).bfloat16()}


def run(module, inputs):
    return module.quantize_rows(inputs["x"])


def reference(inputs):
    x = inputs["x"].double()
    scales = x.abs().amax(dim=1).clamp(min=1e-12) / 127
    return (x / scales[:, None]).round(), scales


def bytes_moved(config):
    return config["rows"] * (3 * config["columns"] + 4)


def flops(config):
    return 5 * config["rows"] * config["columns"]


def tolerance(config):
    """Halves may round to either side: one code, where 42 is typical (the largest, 127, is three deviations)."""
    return 2.5e-2
