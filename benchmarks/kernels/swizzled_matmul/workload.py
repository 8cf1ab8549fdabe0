"""A 4096-cubed product in 16x16 tiles."""

import torch

KERNEL_FILE = "swizzled_matmul.py"


def configs():
    return [{"m": 4096, "n": 4096, "k": 4096}]


def edge_configs():
    return [{"m": 200, "n": 130, "k": 70}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device).half()

    return {"a": normal(config["m"], config["k"]), "b": normal(config["k"], config["n"])}


def run(module, inputs):
    return module.swizzled_matmul(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() @ inputs["b"].double()


def bytes_moved(config):
    m, n, k = config["m"], config["n"], config["k"]
    return 2 * (m * k + k * n + m * n)


def flops(config):
    return 2 * config["m"] * config["n"] * config["k"]


def tolerance(config):
    return 4e-3
