"""Compiles the kernel of an edit's example on its own: float32 arrays of the rank in which it indexes them."""

import ast
import importlib.util
import inspect
import io
from pathlib import Path
from typing import Any

from kdiag.records import Remark

ACCESSES = ("load", "store", "gather", "scatter", "atomic_add")
TILE, EXTENT = 64, 256


def ranks(source: str) -> dict[str, int]:
    """The rank of every array: the length of the tuple that indexes it, 1 for an index that is no tuple."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", ""))
        if isinstance(node, ast.Call) and name in ACCESSES and isinstance(node.args[0], ast.Name):
            index = node.args[1] if len(node.args) > 1 else node.keywords[0].value
            found[node.args[0].id] = len(index.elts) if isinstance(index, ast.Tuple) else 1
    return found


def arguments(function: Any, source: str) -> list[Any]:
    """Tensors without storage for the arrays, a tile of 64 for constants, 256 for other numbers."""
    import torch

    known = ranks(source)
    values: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in known:
            values.append(torch.empty([EXTENT] * known[parameter.name], dtype=torch.float32, device="meta"))
        else:
            values.append(EXTENT if parameter.annotation is int else TILE)
    return values


def compile_to_cubin(source: str, kernel: str, folder: Path, target: str = "sm_90") -> bytes:
    """The machine code of a kernel. Raises what the tile compiler raises."""
    return _compiled(source, kernel, folder, target, "cubin")


def remarks_of(source: str, kernel: str, folder: Path, target: str = "sm_90") -> tuple[Remark, ...]:
    """What the tile compiler remarks on a kernel. Raises what it raises."""
    from kdiag.diagnose.compiler.remarks import parse
    from kdiag.diagnose.compiler.tileiras import assemble, find_tileiras

    bytecode = _compiled(source, kernel, folder, target, "tileir_bytecode")
    return tuple(parse(assemble(find_tileiras(), bytecode, target, 3).remarks))


def _compiled(source: str, kernel: str, folder: Path, target: str, output: str) -> bytes:
    from cuda.tile.compilation import export_kernel

    from kdiag.cutile.signature import signature

    path = folder / f"edited_{abs(hash(source))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, kernel)
    values = arguments(function._annotated_function.pyfunc, source)
    buffer = io.BytesIO()
    export_kernel(function, [signature(function, values)], buffer, gpu_code=target, output_format=output)
    return buffer.getvalue()
