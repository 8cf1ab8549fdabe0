"""How to run, check and judge the scaling of pages."""

import torch

KERNEL_FILE = "paged_rows.py"
PAGE = 1024


def configs():
    return [{"pages": 65536, "used": 65536}]


def edge_configs():
    """Checked, never timed: few pages."""
    return [{"pages": 5, "used": 3}, {"pages": 1, "used": 1}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    cache = torch.randn(config["pages"] * PAGE, generator=generator, device=device)
    table = torch.randperm(config["pages"], generator=generator, device=device)[: config["used"]].to(torch.int32)
    return {"cache": cache, "table": table}


def run(module, inputs):
    return module.paged_rows(inputs["cache"], inputs["table"])


def reference(inputs):
    values = inputs["cache"].double().view(-1, PAGE)[inputs["table"].long()].reshape(-1)
    return values * 0.5 * torch.sigmoid(values)


def bytes_moved(config):
    return 2 * 4 * PAGE * config["used"]


def flops(config):
    return 5 * PAGE * config["used"]


def tolerance(config):
    return 1e-5
