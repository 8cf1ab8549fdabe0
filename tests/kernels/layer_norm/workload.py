"""Rows that do not fill the last tile."""

import torch

KERNEL_FILE = "kernel.py"


def configs():
    return [{"rows": 5, "columns": 43}, {"rows": 3, "columns": 32}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=generator, device=device)

    columns = config["columns"]
    return {"x": normal(config["rows"], columns), "weight": normal(columns), "bias": normal(columns)}


def run(module, inputs):
    return module.layer_norm(inputs["x"], inputs["weight"], inputs["bias"])


def reference(inputs):
    x, weight, bias = (inputs[name].double() for name in ("x", "weight", "bias"))
    return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)
