"""A last group that is not full; no dimension a multiple of its tile."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"m": 40, "n": 50, "k": 55}, {"m": 32, "n": 32, "k": 32}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape, dtype=torch.float32):
        return torch.randn(shape, generator=generator, device=device).to(dtype)

    m, n, k = config["m"], config["n"], config["k"]
    return {"a": normal(m, k, dtype=torch.float16), "b": normal(k, n, dtype=torch.float16)}


def run(module, inputs):
    return module.swizzled_matmul(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() @ inputs["b"].double()
