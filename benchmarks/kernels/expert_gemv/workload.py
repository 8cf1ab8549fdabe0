"""The first layer of a mixture of experts at decode time: one token, eight of thirty-two experts, bfloat16."""

import torch

KERNEL_FILE = "expert_gemv.py"


def configs():
    return [{"experts": 32, "chosen": 8, "rows": 2048, "columns": 7168}]


def edge_configs():
    shapes = [{"experts": 5, "chosen": 3, "rows": 75, "columns": 200}]
    return [*shapes, {"experts": 2, "chosen": 1, "rows": 7, "columns": 33}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    shape = (config["experts"], config["rows"], config["columns"])
    weights = torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16)
    order = torch.randperm(config["experts"], generator=generator, device=device, dtype=torch.int32)
    x = torch.randn(config["columns"], generator=generator, device=device, dtype=torch.bfloat16)
    return {"weights": weights, "chosen": order[: config["chosen"]].contiguous(), "x": x}


def run(module, inputs):
    return module.expert_gemv(inputs["weights"], inputs["chosen"], inputs["x"])


def reference(inputs):
    return inputs["weights"][inputs["chosen"].long()].double() @ inputs["x"].double()


def bytes_moved(config):
    return 2 * (config["chosen"] * config["rows"] * (config["columns"] + 1) + config["columns"])


def flops(config):
    return 2 * config["chosen"] * config["rows"] * config["columns"]


def tolerance(config):
    return 8e-3
