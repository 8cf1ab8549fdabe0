"""A sparse matrix of an unstructured mesh times a vector: 32 or 8 entries a row within a band, float32."""

import torch

KERNEL_FILE = "ell_spmv.py"


def configs():
    return [{"rows": 1 << 20, "slots": 32, "band": 8192}, {"rows": 1 << 22, "slots": 8, "band": 32768}]


def edge_configs():
    return [{"rows": 1003, "slots": 7, "band": 50}]


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    rows, slots, band = (config[name] for name in ("rows", "slots", "band"))
    offsets = torch.randint(-band, band + 1, (rows, slots), generator=generator, device=device, dtype=torch.int32)
    offsets += torch.arange(rows, device=device, dtype=torch.int32)[:, None]
    values = torch.randn((rows, slots), generator=generator, device=device)
    x = torch.randn(rows, generator=generator, device=device)
    return {"values": values, "columns": offsets.clamp_(0, rows - 1), "x": x}


def run(module, inputs):
    return module.ell_spmv(inputs["values"], inputs["columns"], inputs["x"])


def reference(inputs):
    return (inputs["values"].double() * inputs["x"].double()[inputs["columns"].long()]).sum(dim=1)


def bytes_moved(config):
    return 8 * config["rows"] * (config["slots"] + 1)


def flops(config):
    return 2 * config["rows"] * config["slots"]


def tolerance(config):
    return 1e-5
