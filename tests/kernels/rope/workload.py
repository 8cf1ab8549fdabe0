"""More positions than heads, and the other way round."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"positions": 5, "heads": 3, "width": 16}, {"positions": 2, "heads": 4, "width": 8}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape, dtype=torch.float32):
        return torch.randn(shape, generator=generator, device=device).to(dtype)

    positions, heads, width = config["positions"], config["heads"], config["width"]
    angles = normal(positions, width // 2)
    q = normal(positions, heads, width, dtype=torch.float16)
    return {"q": q, "cosines": torch.cos(angles), "sines": torch.sin(angles)}


def run(module, inputs):
    return module.rope(inputs["q"], inputs["cosines"], inputs["sines"])


def reference(inputs):
    first, second = inputs["q"].double().chunk(2, dim=-1)
    cosine, sine = (inputs[name].double()[:, None, :] for name in ("cosines", "sines"))
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
