"""How to run, check and judge the scaling of many small tensors."""

import torch

KERNEL_FILE = "many_copies.py"


def configs():
    return [{"tensors": 64, "elements": 20000}]


def edge_configs():
    """Checked, never timed: tensors that do not fill a tile."""
    return [{"tensors": 3, "elements": 1025}, {"tensors": 1, "elements": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    sizes = [config["elements"] + 16 * n for n in range(config["tensors"])]
    return {f"x{n}": torch.randn(size, generator=generator, device=device) for n, size in enumerate(sizes)}


def run(module, inputs):
    return tuple(module.scale_all(list(inputs.values()), 0.5))


def reference(inputs):
    return tuple(x.double() * 0.5 for x in inputs.values())


def bytes_moved(config):
    return 2 * 4 * sum(config["elements"] + 16 * n for n in range(config["tensors"]))


def flops(config):
    return bytes_moved(config) // 8


def tolerance(config):
    return 1e-6
