"""How to run, check and judge the sums of columns."""

import torch

KERNEL_FILE = "column_sums.py"


def configs():
    return [{"rows": 32768, "columns": 4096}]


def edge_configs():
    """Checked, never timed: rows and columns that do not fill a block."""
    return [{"rows": 70, "columns": 1500}, {"rows": 1, "columns": 33}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    x = torch.rand((config["rows"], config["columns"]), generator=generator, device=device)
    return {"x": x.to(torch.bfloat16), "weight": torch.rand(1, generator=generator, device=device)}


def run(module, inputs):
    return module.column_sums(inputs["x"], inputs["weight"])


def reference(inputs):
    return inputs["x"].double().sum(dim=0) * inputs["weight"].double()


def bytes_moved(config):
    return 2 * config["rows"] * config["columns"]


def flops(config):
    return 2 * config["rows"] * config["columns"]


def tolerance(config):
    """The order of the additions is not fixed."""
    return 1e-4
