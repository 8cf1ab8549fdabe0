"""Group norm in an image decoder: 32 images, 512 channels, 64x64 pixels, float16."""

import torch

KERNEL_FILE = "group_norm.py"
GROUPS = 32


def configs():
    return [{"images": 32, "channels": 512, "side": 64}]


def edge_configs():
    return [{"images": 2, "channels": 96, "side": 35}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    images, channels, side = (config[name] for name in ("images", "channels", "side"))
    x = torch.randn((images, channels, side, side), generator=generator, device=device)
    weight, bias = torch.randn((2, channels), generator=generator, device=device).half()
    return {"x": (x + 0.5).half(), "weight": weight, "bias": bias}


def run(module, inputs):
    return module.group_norm(inputs["x"], GROUPS, inputs["weight"], inputs["bias"])


def reference(inputs):
    x, weight, bias = (inputs[name].double() for name in ("x", "weight", "bias"))
    return torch.nn.functional.group_norm(x, GROUPS, weight, bias, 1e-6)


def bytes_moved(config):
    return 4 * config["channels"] * (config["images"] * config["side"] ** 2 + 1)


def flops(config):
    return 7 * config["images"] * config["channels"] * config["side"] ** 2


def tolerance(config):
    return 2e-3
