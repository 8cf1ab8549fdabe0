"""How to run, check and judge the attention."""

import torch

KERNEL_FILE = "attention.py"


def configs():
    return [{"batch": 4, "heads": 16, "length": 4096, "d": 128, "dtype": "bfloat16"}]


def edge_configs():
    """Checked, never timed: lengths that do not fill a tile."""
    return [
        {"batch": 1, "heads": 2, "length": 100, "d": 64, "dtype": "bfloat16"},
        {"batch": 2, "heads": 1, "length": 17, "d": 32, "dtype": "float16"},
    ]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["batch"], config["heads"], config["length"], config["d"])
    dtype = getattr(torch, config["dtype"])
    return {name: torch.randn(shape, generator=generator, device=device).to(dtype) for name in "qkv"}


def run(module, inputs):
    return module.attention(inputs["q"], inputs["k"], inputs["v"])


def reference(inputs):
    """In float32 on TF32-free products; the scores of all heads would not fit in float64."""
    q, k, v = (inputs[name].float() for name in "qkv")
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def bytes_moved(config):
    return 4 * config["batch"] * config["heads"] * config["length"] * config["d"] * 2


def flops(config):
    return 4 * config["batch"] * config["heads"] * config["length"] ** 2 * config["d"]


def tolerance(config):
    """The weights are rounded to bfloat16 before the second product."""
    return 1e-2
