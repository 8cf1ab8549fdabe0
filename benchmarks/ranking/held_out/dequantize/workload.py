"""Weights of a linear layer from int8 to float16, each group of 128 columns with its zero and its scale."""

import torch

KERNEL_FILE = "dequantize.py"
GROUP = 128


def configs():
    return [{"rows": 8192, "columns": 11008}]


def edge_configs():
    return [{"rows": 3, "columns": 384}, {"rows": 1, "columns": 128}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape, groups = (config["rows"], config["columns"]), (config["rows"], config["columns"] // GROUP)
    codes = torch.randint(-128, 128, shape, generator=generator, device=device, dtype=torch.int8)
    zeros = torch.randint(-16, 16, groups, generator=generator, device=device, dtype=torch.int8)
    scales = 0.01 + 0.01 * torch.rand(groups, generator=generator, device=device)
    return {"codes": codes, "zeros": zeros, "scales": scales.half()}


def run(module, inputs):
    return module.dequantize(inputs["codes"], inputs["zeros"], inputs["scales"])


def reference(inputs):
    zeros, scales = (inputs[name].double().repeat_interleave(GROUP, dim=1) for name in ("zeros", "scales"))
    return (inputs["codes"].double() - zeros) * scales


def bytes_moved(config):
    return config["rows"] * config["columns"] * 3 * (GROUP + 1) // GROUP


def flops(config):
    return 2 * config["rows"] * config["columns"]


def tolerance(config):
    return 2e-3
