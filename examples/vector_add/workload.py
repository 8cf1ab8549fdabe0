"""How to run, check and judge the vector addition."""

import torch

KERNEL_FILE = "vector_add.py"


def configs():
    return [{"n": 134217728, "dtype": "float32"}]


def edge_configs():
    """Checked, never timed: a last tile that is not full, and less than one tile."""
    return [{"n": 1000003, "dtype": "float32"}, {"n": 7, "dtype": "float32"}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    dtype = getattr(torch, config["dtype"])
    return {name: torch.randn(config["n"], generator=generator, device=device).to(dtype) for name in ("a", "b")}


def run(module, inputs):
    return module.vector_add(inputs["a"], inputs["b"])


def reference(inputs):
    return inputs["a"].double() + inputs["b"].double()


def bytes_moved(config):
    return 3 * 4 * config["n"]


def flops(config):
    return config["n"]


def tolerance(config):
    """One rounding of a float32 sum."""
    return 1e-6
