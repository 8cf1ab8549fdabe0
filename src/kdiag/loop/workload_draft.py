"""A workload as far as the text of a kernel file tells it. What cannot be told raises, and says what to write there."""

import ast
import os
from pathlib import Path

from kdiag.diagnose.source.read import read_source
from kdiag.errors import UsageError
from kdiag.loop.findings import choose_kernel
from kdiag.workload import read_source as text_of

TEMPLATE = '''"""How to run {kernel} of {file}, what is right, and how much work there is: see docs/workload.md."""

import torch

KERNEL_FILE = {relative!r}


def configs():
    raise NotImplementedError("say which shapes to time, e.g. [{example}]")


def make_inputs(config, device, seed):
    generator = torch.Generator(device).manual_seed(seed)
    return {{
{inputs}
    }}


def run(module, inputs):
    return module.{wrapper}(**inputs)


def reference(inputs):
    raise NotImplementedError("say what {wrapper} computes, in torch.float64, from {names}")


def bytes_moved(config):
    return 0  # unknown; the least DRAM traffic in bytes lets kdiag tell what could still be gained


def flops(config):
    return 0  # unknown
'''


def draft(kernel_file: Path, wanted: str | None, folder: Path) -> str:
    """The text of a workload that lies in `folder`. Raises UsageError if no function of the file launches the kernel."""
    source = text_of(kernel_file)
    kernel = choose_kernel(source, str(kernel_file), wanted)
    wrapper = _wrapper(source, str(kernel_file), kernel)
    tensors = [argument.arg for argument in _needed(wrapper) if _is_tensor(argument)]
    others = [argument.arg for argument in _needed(wrapper) if not _is_tensor(argument)]
    random = 'torch.randn(config["{0}"], dtype=config["dtype"], device=device, generator=generator)'
    inputs = [f'        "{name}": {random.format(name)},' for name in tensors]
    inputs += [f'        "{name}": config["{name}"],' for name in others]
    example = [f"'{name}': (4096, 4096)" for name in tensors] + [f"'{name}': 1" for name in others]
    return TEMPLATE.format(
        kernel=kernel,
        file=kernel_file.name,
        relative=Path(os.path.relpath(kernel_file.resolve(), folder.resolve())).as_posix(),
        example="{" + ", ".join([*example, "'dtype': torch.bfloat16"]) + "}",
        inputs="\n".join(inputs),
        wrapper=wrapper.name,
        names=", ".join(f"inputs['{name}']" for name in [*tensors, *others]) or "nothing",
    )


def _wrapper(source: str, file: str, kernel: str) -> ast.FunctionDef:
    """The function at the top of the file that launches the kernel."""
    launches = read_source(source, file).launches
    names = {site.function for site in launches if kernel in (site.kernel, *site.kernels)}
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    found = next((node for node in functions if node.name in names), None)
    if found is None:
        raise UsageError(
            f"No function of {file} launches {kernel}; write the workload by hand (docs/workload.md), with a run() that does."
        )
    return found


def _needed(function: ast.FunctionDef) -> list[ast.arg]:
    """The parameters that have no default."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    without = plain[: len(plain) - len(arguments.defaults)]
    return [*without, *(argument for argument, default in named if default is None)]


def _is_tensor(argument: ast.arg) -> bool:
    """What is annotated as a tensor, or not annotated and so most likely one."""
    return argument.annotation is None or ast.unparse(argument.annotation).split(".")[-1] == "Tensor"
