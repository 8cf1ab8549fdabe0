"""Backward pass of a layer norm before attention, with the gradient that arrives over the residual connection."""

import torch

KERNEL_FILE = "layer_norm_backward.py"
NAMES = ("dy", "x", "mean", "rstd", "weight", "residual")


def configs():
    return [{"rows": 8192, "columns": 16384}]


def edge_configs():
    return [{"rows": 3, "columns": 300}, {"rows": 1, "columns": 33}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["rows"], config["columns"])
    dy, x, residual = (torch.randn(shape, generator=generator, device=device).bfloat16() for _ in range(3))
    x = x + 0.5  # a mean that matters
    weight = torch.randn(config["columns"], generator=generator, device=device).bfloat16()
    variance, mean = torch.var_mean(x.float(), dim=1, correction=0)
    rstd = torch.rsqrt(variance + 1e-5)
    return {"dy": dy, "x": x, "mean": mean, "rstd": rstd, "weight": weight, "residual": residual}


def run(module, inputs):
    return module.layer_norm_backward(*(inputs[name] for name in NAMES))


def reference(inputs):
    dy, x, mean, rstd, weight, residual = (inputs[name].double() for name in NAMES)
    normalized = (x - mean[:, None]) * rstd[:, None]
    weighted = dy * weight
    along = (weighted * normalized).mean(dim=1, keepdim=True)
    change = weighted - weighted.mean(dim=1, keepdim=True) - normalized * along
    return residual + change * rstd[:, None]


def bytes_moved(config):
    return 2 * 4 * config["rows"] * config["columns"] + 8 * config["rows"] + 2 * config["columns"]


def flops(config):
    return 12 * config["rows"] * config["columns"]


def tolerance(config):
    return 8e-3
