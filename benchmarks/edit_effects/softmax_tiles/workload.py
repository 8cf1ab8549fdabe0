"""How to run, check and judge the row softmax by tile loads."""

import torch

KERNEL_FILE = "softmax.py"


def configs():
    return [
        {"rows": 32768, "columns": 4096, "dtype": "bfloat16"},
        {"rows": 65536, "columns": 2048, "dtype": "bfloat16"},
    ]


def edge_configs():
    """Checked, never timed: rows that do not fill the tile, and very few rows."""
    return [
        {"rows": 257, "columns": 3001, "dtype": "bfloat16"},
        {"rows": 3, "columns": 17, "dtype": "bfloat16"},
        {"rows": 1, "columns": 4096, "dtype": "float16"},
    ]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["rows"], config["columns"])
    x = torch.randn(shape, generator=generator, device=device).to(getattr(torch, config["dtype"]))
    return {"x": x}


def run(module, inputs):
    return module.softmax(inputs["x"])


def reference(inputs):
    return torch.softmax(inputs["x"].double(), dim=1)


def bytes_moved(config):
    return 2 * config["rows"] * config["columns"] * 2


def flops(config):
    return 5 * config["rows"] * config["columns"]


def tolerance(config):
    """bfloat16 keeps 8 bits: half a unit in the last place is 2**-9, and a little for the sum."""
    return 8e-3 if config["dtype"] == "bfloat16" else 2e-3
