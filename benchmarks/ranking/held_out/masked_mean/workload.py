"""Mean pooling of a text encoder's last layer: 64 or 512 sequences, about 7 of 8 steps unmasked, bfloat16."""

import torch

KERNEL_FILE = "masked_mean.py"


def configs():
    return [{"batch": 64, "steps": 4096, "channels": 1024}, {"batch": 512, "steps": 512, "channels": 768}]


def edge_configs():
    return [{"batch": 3, "steps": 67, "channels": 131}, {"batch": 2, "steps": 1, "channels": 7}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    batch, steps, channels = (config[name] for name in ("batch", "steps", "channels"))
    x = torch.randn((batch, steps, channels), generator=generator, device=device)
    x += torch.randn((batch, 1, channels), generator=generator, device=device)
    mask = torch.rand((batch, steps), generator=generator, device=device) < 0.875
    return {"x": x.bfloat16(), "mask": mask.int()}


def run(module, inputs):
    return module.masked_mean(inputs["x"], inputs["mask"])


def reference(inputs):
    mask = inputs["mask"].double()
    total = torch.einsum("bs,bsc->bc", mask, inputs["x"].double())
    return total / mask.sum(dim=1, keepdim=True).clamp(min=1)


def bytes_moved(config):
    batch, steps, channels = (config[name] for name in ("batch", "steps", "channels"))
    return 2 * batch * channels * (steps + 1) + 4 * batch * steps


def flops(config):
    return 2 * config["batch"] * config["steps"] * config["channels"]


def tolerance(config):
    return 8e-3
