"""Cross-entropy of 3072 tokens over a vocabulary of 32000, without a reduction over tokens."""

import torch

KERNEL_FILE = "cross_entropy.py"


def configs():
    return [{"tokens": 3072, "vocabulary": 32000}]


def edge_configs():
    return [{"tokens": 5, "vocabulary": 1201}, {"tokens": 2, "vocabulary": 33}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    tokens, vocabulary = config["tokens"], config["vocabulary"]
    logits = 2 * torch.randn((tokens, vocabulary), generator=generator, device=device)
    targets = torch.randint(vocabulary, (tokens,), generator=generator, device=device)
    return {"logits": logits, "targets": targets}


def run(module, inputs):
    return module.cross_entropy(inputs["logits"], inputs["targets"])


def reference(inputs):
    return torch.nn.functional.cross_entropy(inputs["logits"].double(), inputs["targets"], reduction="none")


def bytes_moved(config):
    return 4 * config["tokens"] * (config["vocabulary"] + 3)


def flops(config):
    return 4 * config["tokens"] * config["vocabulary"]


def tolerance(config):
    return 1e-5
