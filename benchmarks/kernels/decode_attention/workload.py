"""One decoding step of two sequences with 32 heads and 4096 cached keys."""

import torch

KERNEL_FILE = "decode_attention.py"


def configs():
    return [{"sequences": 2, "heads": 32, "length": 4096, "d": 128}]


def edge_configs():
    return [{"sequences": 2, "heads": 3, "length": 150, "d": 64}, {"sequences": 1, "heads": 1, "length": 17, "d": 32}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    sequences, heads, length, d = (config[name] for name in ("sequences", "heads", "length", "d"))
    shapes = {"q": (sequences, heads, d), "k": (sequences, heads, length, d), "v": (sequences, heads, length, d)}
    return {name: torch.randn(s, generator=generator, device=device).half() for name, s in shapes.items()}


def run(module, inputs):
    return module.decode_attention(inputs["q"], inputs["k"], inputs["v"])


def reference(inputs):
    q, k, v = (inputs[name].double() for name in "qkv")
    scores = torch.einsum("shd,shld->shl", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("shl,shld->shd", torch.softmax(scores, dim=-1), v)


def bytes_moved(config):
    return 4 * config["sequences"] * config["heads"] * config["d"] * (config["length"] + 1)


def flops(config):
    return 4 * config["sequences"] * config["heads"] * config["length"] * config["d"]


def tolerance(config):
    return 2e-3
