"""How to run, check and judge the layer normalization."""

import torch

KERNEL_FILE = "layer_norm.py"


def configs():
    return [{"rows": 16384, "columns": 8192, "dtype": "bfloat16"}]


def edge_configs():
    """Checked, never timed: rows that do not fill their last tile, and one shorter than a tile."""
    return [{"rows": 5, "columns": 3001, "dtype": "bfloat16"}, {"rows": 1, "columns": 33, "dtype": "float16"}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    dtype = getattr(torch, config["dtype"])
    x = torch.randn((config["rows"], config["columns"]), generator=generator, device=device).to(dtype)
    weight, bias = (torch.rand(config["columns"], generator=generator, device=device).to(dtype) for _ in range(2))
    return {"x": x, "weight": weight, "bias": bias}


def run(module, inputs):
    return module.layer_norm(inputs["x"], inputs["weight"], inputs["bias"])


def reference(inputs):
    x, weight, bias = (inputs[name].double() for name in ("x", "weight", "bias"))
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, 1e-5)


def bytes_moved(config):
    return 2 * config["columns"] * (2 * config["rows"] + 2)


def flops(config):
    return 8 * config["rows"] * config["columns"]


def tolerance(config):
    """bfloat16 keeps 8 bits, float16 keeps 11."""
    return 8e-3 if config["dtype"] == "bfloat16" else 2e-3
