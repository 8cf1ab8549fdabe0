"""A small kernel with a workload, for tests of what runs them."""

KERNEL = '''"""Rows scaled by their maximum."""

import cuda.tile as ct
import torch


@ct.kernel
def scaled_kernel(x, y, n: int, TILE: ct.Constant[int]):
    row = ct.bid(0)
    columns = ct.arange(TILE, dtype=ct.int32)
    values = ct.gather(x, (row, columns), check_bounds=True, padding_value=-float("inf"))
    values = ct.astype(values, ct.float32)
    largest = ct.max(values, axis=0, keepdims=True)
    ct.scatter(y, (row, columns), values / largest, check_bounds=True)


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), scaled_kernel, (x, y, x.shape[1], 64))
    return y
'''
WORKLOAD = """
import torch
KERNEL_FILE = "scaled.py"

def configs():
    return [{"rows": 512, "columns": 64}, {"rows": 64, "columns": 48}]

def edge_configs():
    return [{"rows": 5, "columns": 37}, {"rows": 1, "columns": 64}]

def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {"x": torch.randn((config["rows"], config["columns"]), generator=generator, device=device)}

def run(module, inputs):
    return module.scaled(inputs["x"])

def reference(inputs):
    x = inputs["x"].double()
    return x / x.amax(dim=1, keepdim=True)

def bytes_moved(config):
    return 8 * config["rows"] * config["columns"]

def flops(config):
    return 2 * config["rows"] * config["columns"]
"""


def write(folder):
    """Write the kernel and its workload; the kernel file."""
    (folder / "workload.py").write_text(WORKLOAD)
    (folder / "scaled.py").write_text(KERNEL)
    return folder / "scaled.py"


def variant(kernel, old, new, name="variant.py"):
    text = kernel.read_text()
    assert old in text
    path = kernel.parent / name
    path.write_text(text.replace(old, new))
    return path
