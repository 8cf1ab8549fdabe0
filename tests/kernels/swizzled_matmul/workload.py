"""A last group that is not full; no dimension a multiple of its tile."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"m": 40, "n": 50, "k": 55}, {"m": 32, "n": 32, "k": 32}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device).half()

    m, n, k = config["m"], config["n"], config["k"]
    return {"a": normal(m, k), "b": normal(k, n)}


def run(module, inputs):
    return module.swizzled_matmul(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() @ inputs["b"].double()
