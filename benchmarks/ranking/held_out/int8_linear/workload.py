"""Linear layers with int8 weights during prefill."""

import torch

KERNEL_FILE = "int8_linear.py"


def configs():
    return [{"m": 2048, "n": 4096, "k": 14336}, {"m": 4096, "n": 4096, "k": 4096}]


def edge_configs():
    return [{"m": 70, "n": 136, "k": 104}, {"m": 1, "n": 48, "k": 16}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    m, n, k = (config[name] for name in "mnk")
    w = torch.randint(-127, 128, (n, k), generator=generator, device=device, dtype=torch.int8)
    x = torch.randn((m, k), generator=generator, device=device).half()
    return {"x": x, "w": w, "scales": 1e-4 + 1e-4 * torch.rand(n, generator=generator, device=device)}


def run(module, inputs):
    return module.int8_linear(inputs["x"], inputs["w"], inputs["scales"])


def reference(inputs):
    return inputs["x"].double() @ inputs["w"].double().T * inputs["scales"].double()


def bytes_moved(config):
    m, n, k = (config[name] for name in "mnk")
    return 2 * m * (k + n) + n * (k + 4)


def flops(config):
    return 2 * config["m"] * config["n"] * config["k"]


def tolerance(config):
    return 3e-3
