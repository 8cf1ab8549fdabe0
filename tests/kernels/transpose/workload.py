"""Rows and columns that fill no tile."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"rows": 19, "columns": 37}, {"rows": 32, "columns": 32}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {"x": torch.randn(config["rows"], config["columns"], generator=generator, device=device).bfloat16()}


def run(module, inputs):
    return module.transpose(inputs["x"])


def reference(inputs):
    return inputs["x"].T
