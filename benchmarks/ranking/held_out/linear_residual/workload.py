"""The second linear layer of a vision transformer's feed-forward block: 16 images of 729 patches, 4304 inputs, float16."""

import torch

KERNEL_FILE = "linear_residual.py"
NAMES = ("x", "w", "bias", "residual")


def configs():
    return [{"m": 11664, "n": 1152, "k": 4304}]


def edge_configs():
    return [{"m": 70, "n": 136, "k": 104}, {"m": 1, "n": 33, "k": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    m, n, k = config["m"], config["n"], config["k"]
    shapes = ((m, k), (n, k), (n,), (m, n))
    tensors = [torch.randn(shape, generator=generator, device=device).half() for shape in shapes]
    return dict(zip(NAMES, tensors, strict=True))


def run(module, inputs):
    return module.linear_residual(*(inputs[name] for name in NAMES))


def reference(inputs):
    x, w, bias, residual = (inputs[name].double() for name in NAMES)
    return residual + torch.nn.functional.linear(x, w, bias)


def bytes_moved(config):
    m, n, k = config["m"], config["n"], config["k"]
    return 2 * (m * k + n * k + n + 2 * m * n)


def flops(config):
    return 2 * config["m"] * config["n"] * (config["k"] + 1)


def tolerance(config):
    return 2e-3
