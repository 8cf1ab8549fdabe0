"""Squared distances of 8192 embeddings to 8192 centroids in 256 dimensions, bfloat16 points, float32 distances."""

import torch

KERNEL_FILE = "pairwise_distance.py"


def configs():
    return [{"n": 8192, "m": 8192, "d": 256}]


def edge_configs():
    return [{"n": 67, "m": 131, "d": 53}, {"n": 1, "m": 5, "d": 3}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    a, b = (torch.randn((config[name], config["d"]), generator=generator, device=device) for name in "nm")
    return {"a": a.bfloat16(), "b": b.bfloat16()}


def run(module, inputs):
    return module.pairwise_distance(inputs["a"], inputs["b"])


def reference(inputs):
    a, b = inputs["a"].double(), inputs["b"].double()
    return (a * a).sum(dim=1)[:, None] + (b * b).sum(dim=1) - 2 * a @ b.T


def bytes_moved(config):
    n, m, d = (config[name] for name in "nmd")
    return 2 * d * (n + m) + 4 * n * m


def flops(config):
    n, m, d = (config[name] for name in "nmd")
    return 2 * d * (n * m + n + m) + 3 * n * m


def tolerance(config):
    return 1e-5
