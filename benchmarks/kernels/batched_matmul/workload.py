"""Thirty-two products of 1024x1024 matrices in bfloat16."""

import torch

KERNEL_FILE = "batched_matmul.py"


def configs():
    return [{"batch": 32, "m": 1024, "n": 1024, "k": 1024}]


def edge_configs():
    return [{"batch": 3, "m": 72, "n": 136, "k": 40}, {"batch": 1, "m": 5, "n": 65, "k": 100}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    batch, m, n, k = (config[name] for name in ("batch", "m", "n", "k"))
    a = torch.randn((batch, m, k), generator=generator, device=device).bfloat16()
    return {"a": a, "b": torch.randn((batch, k, n), generator=generator, device=device).bfloat16()}


def run(module, inputs):
    return module.batched_matmul(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() @ inputs["b"].double()


def bytes_moved(config):
    m, n, k = config["m"], config["n"], config["k"]
    return 2 * config["batch"] * (m * k + k * n + m * n)


def flops(config):
    return 2 * config["batch"] * config["m"] * config["n"] * config["k"]


def tolerance(config):
    return 8e-3
