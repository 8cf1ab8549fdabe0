"""Compiles the kernel of an edit's example on its own: float32 arrays of the rank in which it indexes them.

What is read from an array and then used in an index makes it an int32 array.
"""

import ast
import inspect
import io
from typing import get_args

from edit_emulation import module_of
from kdiag.diagnose.compiler.cubin import read_cubin
from source_text import called, parts

ACCESSES = ("load", "store", "gather", "scatter", "atomic_add", "atomic_max", "atomic_cas")
TILE, EXTENT = 64, 256


def accesses(tree):
    """Array or view, and index, of every access to memory."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) in ACCESSES]
    named = dict(assigned(tree))
    arrays = [(call, array(call.args[0])) for call in calls if call.args]
    indices = [(a, c.args[1] if len(c.args) > 1 else c.keywords[0].value) for c, a in arrays if a]
    return [(a, named.get(i.id, i) if isinstance(i, ast.Name) else i) for a, i in indices]


def array(accessed):
    """The name of an array, or of the array that is sliced; "" for anything else."""
    if called(accessed) == "slice":
        accessed = accessed.func.value
    return accessed.id if isinstance(accessed, ast.Name) else ""


def assigned(tree):
    """Every name with what is assigned to it; tuples are taken apart."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            else:
                pairs = [(target, value)]
            found += [(name.id, part) for name, part in pairs if isinstance(name, ast.Name)]
    return found


def ranks(source):
    """The rank of every array: the length of the tuple that indexes it (or a slice of it), 1 for any other index."""
    tree = ast.parse(source)
    found = {name: len(parts(i)) for name, i in accesses(tree)}
    for view, value in assigned(tree):
        if called(value) == "slice" and view in found:
            found[value.func.value.id] = found[view]
    return found


def array_lists(source):
    """The names that stand for lists of arrays, each with a name that one of its arrays is given."""
    subscripts = [
        (name, value.value) for name, value in assigned(ast.parse(source)) if isinstance(value, ast.Subscript)
    ]
    return {owner.id: name for name, owner in subscripts if isinstance(owner, ast.Name)}


def index_arrays(source):
    """The arrays whose values are used in an index or in the bounds of a slice, through any names."""
    tree = ast.parse(source)
    parts = [index for _, index in accesses(tree)]
    parts += [node for node in ast.walk(tree) if isinstance(node, ast.Call) and called(node) == "slice"]
    used = {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}
    values = assigned(tree)
    for _ in values:
        used |= {n.id for name, v in values if name in used for n in ast.walk(v) if isinstance(n, ast.Name)}
    read = [(name, value) for name, value in values if name in used and called(value) in ("load", "gather")]
    return {value.args[0].id for _, value in read}


def arguments(function, source):
    """Tensors without storage for the arrays, a tile of 64 for constants, 256 for other numbers, False."""
    import torch

    known, indices = ranks(source), index_arrays(source)
    values = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in (lists := array_lists(source)):
            one = torch.empty([EXTENT] * known.get(lists[parameter.name], 1), dtype=torch.float32, device="meta")
            values.append([one, one])
        elif parameter.name in known:
            dtype = torch.int32 if parameter.name in indices else torch.float32
            values.append(torch.empty([EXTENT] * known[parameter.name], dtype=dtype, device="meta"))
        elif bool in get_args(parameter.annotation):
            values.append(False)
        else:
            values.append(EXTENT if parameter.annotation is int else TILE)
    return values


def compile_to_cubin(source, kernel, target="sm_90"):
    """The machine code of a kernel. Raises what the tile compiler raises."""
    return _compiled(source, kernel, target, "cubin")


def machine_code(source, kernel, target="sm_90"):
    """What the cubin says of the kernel. Raises what the tile compiler raises."""
    (found,) = read_cubin(compile_to_cubin(source, kernel, target)).values()
    return found


def remarks_of(source, kernel, target="sm_90"):
    """What the tile compiler remarks on a kernel. Raises what it raises."""
    from kdiag.diagnose.compiler.remarks import parse
    from kdiag.diagnose.compiler.tileiras import assemble, find_tileiras

    bytecode = _compiled(source, kernel, target, "tileir_bytecode")
    return tuple(parse(assemble(find_tileiras(), bytecode, target, 3).remarks))


def _compiled(source, kernel, target, output):
    from cuda.tile.compilation import export_kernel

    from kdiag.cutile.signature import signature

    function = getattr(module_of(source), kernel)
    values = arguments(function._annotated_function.pyfunc, source)
    buffer = io.BytesIO()
    export_kernel(function, [signature(function, values)], buffer, gpu_code=target, output_format=output)
    return buffer.getvalue()
