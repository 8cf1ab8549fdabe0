"""Top-1 routing of a large batch among 256 or 128 experts, float32, no ties."""

import torch

KERNEL_FILE = "router.py"


def configs():
    return [{"tokens": 262144, "experts": 256}, {"tokens": 524288, "experts": 128}]


def edge_configs():
    return [{"tokens": 37, "experts": 64}, {"tokens": 1, "experts": 8}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    tokens, experts = config["tokens"], config["experts"]
    logits = torch.randn((tokens, experts), generator=generator, device=device).clamp(max=5)
    winners = torch.randint(experts, (tokens, 1), generator=generator, device=device)
    return {"logits": logits.scatter_(1, winners, 6.0)}


def run(module, inputs):
    return module.router(inputs["logits"])


def reference(inputs):
    return torch.softmax(inputs["logits"].double(), dim=1).max(dim=1)


def bytes_moved(config):
    return 4 * config["tokens"] * (config["experts"] + 2)


def flops(config):
    return 5 * config["tokens"] * config["experts"]


def tolerance(config):
    return 1e-5
