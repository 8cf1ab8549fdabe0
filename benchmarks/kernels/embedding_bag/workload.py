"""A sparse feature of a recommender: 16384 bags, each the sum of 40 rows out of a million, bfloat16."""

import torch

KERNEL_FILE = "embedding_bag.py"


def configs():
    return [{"rows": 1 << 20, "width": 256, "bags": 16384, "items": 40}]


def edge_configs():
    return [{"rows": 50, "width": 72, "bags": 5, "items": 7}, {"rows": 3, "width": 33, "bags": 1, "items": 1}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    rows, bags = config["rows"], (config["bags"], config["items"])
    table = torch.randn((rows, config["width"]), generator=generator, device=device, dtype=torch.bfloat16)
    indices = torch.randint(rows, bags, generator=generator, device=device, dtype=torch.int32)
    return {"table": table, "indices": indices}


def run(module, inputs):
    return module.embedding_bag(inputs["table"], inputs["indices"])


def reference(inputs):
    return torch.nn.functional.embedding_bag(inputs["indices"], inputs["table"].double(), mode="sum")


def bytes_moved(config):
    rows, lookups = config["rows"], config["bags"] * config["items"]
    distinct = round(rows * (1 - (1 - 1 / rows) ** lookups))  # expected of a uniform draw
    return 2 * config["width"] * (distinct + config["bags"]) + 4 * lookups


def flops(config):
    return config["bags"] * config["items"] * config["width"]


def tolerance(config):
    return 8e-3
