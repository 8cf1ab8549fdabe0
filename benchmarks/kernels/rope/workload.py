"""Rotary embedding of 32 heads."""

import torch

KERNEL_FILE = "rope.py"


def configs():
    return [{"positions": 16384, "heads": 32, "width": 128}]


def edge_configs():
    return [{"positions": 37, "heads": 3, "width": 64}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    positions, heads, width = config["positions"], config["heads"], config["width"]
    angles = torch.randn((positions, width // 2), generator=generator, device=device)
    q = torch.randn((positions, heads, width), generator=generator, device=device).half()
    return {"q": q, "cosines": torch.cos(angles), "sines": torch.sin(angles)}


def run(module, inputs):
    return module.rope(inputs["q"], inputs["cosines"], inputs["sines"])


def reference(inputs):
    first, second = inputs["q"].double().chunk(2, dim=-1)
    cosine, sine = (inputs[name].double()[:, None, :] for name in ("cosines", "sines"))
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


def bytes_moved(config):
    elements = config["positions"] * config["heads"] * config["width"]
    return 2 * 2 * elements + 4 * config["positions"] * config["width"]


def flops(config):
    return 3 * config["positions"] * config["heads"] * config["width"]


def tolerance(config):
    return 8e-3
