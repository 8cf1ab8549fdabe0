"""A layer of minimal GRUs in training: 2560 channels, bfloat16."""

import torch

KERNEL_FILE = "min_gru.py"


def configs():
    return [{"sequences": 8, "steps": 2048, "channels": 2560}, {"sequences": 32, "steps": 512, "channels": 2560}]


def edge_configs():
    return [{"sequences": 2, "steps": 19, "channels": 200}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (2, config["sequences"], config["steps"], config["channels"])
    gates, candidates = torch.randn(shape, generator=generator, device=device).bfloat16()
    return {"gates": gates, "candidates": candidates}


def run(module, inputs):
    return module.min_gru(inputs["gates"], inputs["candidates"])


def reference(inputs):
    updates, candidates = torch.sigmoid(inputs["gates"].double()), inputs["candidates"].double()
    states = torch.zeros_like(updates)
    for t in range(updates.shape[1]):
        states[:, t] = torch.lerp(states[:, t - 1], candidates[:, t], updates[:, t])
    return states


def bytes_moved(config):
    return 6 * config["sequences"] * config["steps"] * config["channels"]


def flops(config):
    return 8 * config["sequences"] * config["steps"] * config["channels"]


def tolerance(config):
    return 8e-3
