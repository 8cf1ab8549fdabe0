"""An 8192x8192 transposition."""

import torch

KERNEL_FILE = "transpose.py"


def configs():
    return [{"rows": 8192, "columns": 8192}]


def edge_configs():
    return [{"rows": 131, "columns": 1030}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["rows"], config["columns"])
    return {"x": torch.randn(shape, generator=generator, device=device).bfloat16()}


def run(module, inputs):
    return module.transpose(inputs["x"])


def reference(inputs):
    return inputs["x"].double().T.contiguous()


def bytes_moved(config):
    return 2 * 2 * config["rows"] * config["columns"]


def flops(config):
    return 0


def tolerance(config):
    return 1e-6
