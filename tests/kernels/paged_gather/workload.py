"""Sequences of different lengths on pages in no order."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"sequences": 3, "pages": 4, "width": 16}, {"sequences": 2, "pages": 2, "width": 8}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    sequences, pages, width = config["sequences"], config["pages"], config["width"]
    table = torch.randperm(sequences * pages, generator=generator).reshape(sequences, pages).to(torch.int32)
    lengths = torch.tensor([4 * pages - 3 * i - seed for i in range(sequences)], dtype=torch.int32)
    cache = torch.randn(4 * sequences * pages, width, generator=generator, device=device)
    return {"cache": cache, "table": table.to(device), "lengths": lengths.to(device)}


def run(module, inputs):
    return module.paged_gather(inputs["cache"], inputs["table"], inputs["lengths"])


def reference(inputs):
    cache, table, lengths = inputs["cache"], inputs["table"].long(), inputs["lengths"]
    rows = (table[:, :, None] * 4 + torch.arange(4)).reshape(table.shape[0], -1)
    valid = torch.arange(rows.shape[1])[None, :] < lengths[:, None]
    return torch.where(valid[:, :, None], cache[rows].double(), 0.0)
