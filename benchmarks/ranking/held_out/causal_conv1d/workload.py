"""The short convolution of a Mamba block: 4 sequences of 4096 steps, 4096 channels, width 4, bfloat16."""

import torch

KERNEL_FILE = "causal_conv1d.py"
WIDTH = 4


def configs():
    return [{"batch": 4, "steps": 4096, "channels": 4096}]


def edge_configs():
    return [{"batch": 2, "steps": 67, "channels": 131}, {"batch": 3, "steps": 2, "channels": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["batch"], config["steps"], config["channels"])
    x = torch.randn(shape, generator=generator, device=device)
    weight = 0.5 * torch.randn((config["channels"], WIDTH), generator=generator, device=device)
    bias = torch.randn(config["channels"], generator=generator, device=device)
    return {"x": x.bfloat16(), "weight": weight.bfloat16(), "bias": bias.bfloat16()}


def run(module, inputs):
    return module.causal_conv1d(inputs["x"], inputs["weight"], inputs["bias"])


def reference(inputs):
    x, weight, bias = (inputs[name].double() for name in ("x", "weight", "bias"))
    padded = torch.nn.functional.pad(x, (0, 0, WIDTH - 1, 0))
    total = bias + sum(padded[:, tap : tap + x.shape[1]] * weight[:, tap] for tap in range(WIDTH))
    return torch.nn.functional.silu(total)


def bytes_moved(config):
    return 2 * config["channels"] * (2 * config["batch"] * config["steps"] + WIDTH + 1)


def flops(config):
    return (2 * WIDTH + 4) * config["batch"] * config["steps"] * config["channels"]


def tolerance(config):
    return 8e-3
