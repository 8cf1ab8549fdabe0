"""A kernel that doubles a vector, with a workload, for tests that break either."""

LAUNCH = "ct.launch(torch.cuda.current_stream(), (-(-x.numel() // 32), 1, 1), scale_kernel, (x, y, 32))"
KERNEL = f"""
import cuda.tile as ct
import torch

@ct.kernel
def scale_kernel(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (TILE,)) * 2)

def scale(x):
    y = torch.empty_like(x)
    {LAUNCH}
    return y
"""
INPUTS = 'return {"x": torch.arange(1.0, config["n"] + 1, device=device)}'
WORKLOAD = f"""
import torch
KERNEL_FILE = "scale.py"

def configs():
    return [{{"n": 64}}, {{"n": 100}}]

def make_inputs(config, device, seed):
    {INPUTS}

def run(module, inputs):
    return module.scale(inputs["x"])

def reference(inputs):
    return inputs["x"].double() * 2

def bytes_moved(config):
    return 8 * config["n"]

def flops(config):
    return config["n"]
"""
