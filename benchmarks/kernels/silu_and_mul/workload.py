"""How to run, check and judge silu_and_mul."""

import torch

KERNEL_FILE = "silu_and_mul.py"


def configs():
    return [{"rows": 16384, "columns": 8192, "dtype": "bfloat16"}]


def edge_configs():
    """Checked, never timed: columns that do not fill a tile."""
    return [{"rows": 7, "columns": 1000, "dtype": "bfloat16"}, {"rows": 2, "columns": 17, "dtype": "bfloat16"}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    x = torch.randn((config["rows"], 2 * config["columns"]), generator=generator, device=device)
    return {"x": x.to(getattr(torch, config["dtype"]))}


def run(module, inputs):
    return module.silu_and_mul(inputs["x"])


def reference(inputs):
    gate, up = inputs["x"].double().chunk(2, dim=1)
    return gate * torch.sigmoid(gate) * up


def bytes_moved(config):
    return 3 * config["rows"] * config["columns"] * 2


def flops(config):
    return 5 * config["rows"] * config["columns"]


def tolerance(config):
    """bfloat16 keeps 8 bits."""
    return 8e-3
