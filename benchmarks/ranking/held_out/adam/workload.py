"""Adam's hundredth step for the 33 million weights of an 8192x4096 layer, float32."""

import torch

KERNEL_FILE = "adam.py"
RATE = 1e-2
STEP = 100


def configs():
    return [{"weights": 8192 * 4096}]


def edge_configs():
    return [{"weights": 1301}, {"weights": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    p, g, m, v = (torch.randn(config["weights"], generator=generator, device=device) for _ in range(4))
    return {"p": p, "g": g, "m": 0.1 * m, "v": 0.01 + 0.1 * v * v}


def run(module, inputs):
    return module.adam(*(inputs[name] for name in "pgmv"), RATE, STEP)


def reference(inputs):
    p, g, m, v = (inputs[name].double() for name in "pgmv")
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    step = m / (1 - 0.9**STEP) / ((v / (1 - 0.999**STEP)).sqrt() + 1e-8)
    return p - RATE * (step + 0.01 * p), m, v


def bytes_moved(config):
    return 7 * 4 * config["weights"]


def flops(config):
    return 15 * config["weights"]


def tolerance(config):
    return 1e-5
