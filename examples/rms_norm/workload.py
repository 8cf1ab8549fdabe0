"""How to run, check and judge the RMS normalization."""

import torch

KERNEL_FILE = "rms_norm.py"


def configs():
    return [
        {"rows": 32768, "columns": 4096, "dtype": "bfloat16"},
        {"rows": 16384, "columns": 8192, "dtype": "bfloat16"},
    ]


def edge_configs():
    """Checked, never timed: rows that do not fill the tile, and a single row."""
    return [{"rows": 129, "columns": 2999, "dtype": "bfloat16"}, {"rows": 1, "columns": 64, "dtype": "float16"}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    dtype = getattr(torch, config["dtype"])
    x = torch.randn((config["rows"], config["columns"]), generator=generator, device=device).to(dtype)
    weight = torch.rand(config["columns"], generator=generator, device=device).to(dtype)
    return {"x": x, "weight": weight}


def run(module, inputs):
    return module.rms_norm(inputs["x"], inputs["weight"])


def reference(inputs):
    x, weight = inputs["x"].double(), inputs["weight"].double()
    return x * torch.rsqrt((x * x).mean(dim=1, keepdim=True) + 1e-6) * weight


def bytes_moved(config):
    return 2 * config["columns"] * (2 * config["rows"] + 1)


def flops(config):
    return 4 * config["rows"] * config["columns"]


def tolerance(config):
    """bfloat16 keeps 8 bits, float16 keeps 11."""
    return 8e-3 if config["dtype"] == "bfloat16" else 2e-3
