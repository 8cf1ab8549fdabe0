"""Whether a call through an attribute is cuda.tile's own: a function of it, or a method of a value of the kernel.

Any other one, such as a static method or a function of an imported module, may do anything: no edit reads it.
"""

from functools import lru_cache

import libcst as cst

from .bindings import Bindings
from .kernel_source import KernelSource

# The public methods of Tile, Array, TiledView and RawArrayMemory in cuda/tile/_stub.py of cuda-tile 1.7.0.
METHODS = frozenset(
    {
        *("astype", "extract", "insert", "item", "permute", "reshape", "transpose"),
        *("foreign_pointer", "from_foreign", "get_raw_memory", "slice", "tiled_view"),
        *("load", "num_tiles", "store", "traversal_steps"),
        *(f"atomic_store_{name}" for name in ("add", "and", "max", "min", "or", "xor")),
        *("load_offset", "store_offset"),
        *(f"atomic_{name}_offset" for name in ("add", "and", "cas", "max", "min", "or", "xchg", "xor")),
    }
)
COMPUTED = cst.Call | cst.BinaryOperation | cst.UnaryOperation | cst.Comparison


def is_unread(read: KernelSource, call: cst.Call) -> bool:
    """Whether a call that is not of a plain name reaches something that is not certainly cuda.tile's."""
    called = call.func
    if isinstance(called, cst.Name) or read.names.resolve(called) is not None:
        return False
    if not isinstance(called, cst.Attribute) or called.attr.value not in METHODS:
        return True
    owner: cst.BaseExpression = called.value
    while isinstance(owner, cst.Attribute | cst.Subscript):
        owner = owner.value
    if isinstance(owner, cst.Name):
        return not _is_local(read, owner)
    return not isinstance(owner, COMPUTED)  # what it is computed from is looked at where it is called


def _is_local(read: KernelSource, name: cst.Name) -> bool:
    """Whether the function around a name has it as a parameter or gives it a value."""
    around = read.around(name, cst.FunctionDef)
    return around is not None and not _bindings(read, around).is_global(name.value)


@lru_cache(maxsize=16)
def _bindings(read: KernelSource, function: cst.FunctionDef) -> Bindings:
    return Bindings(function, read)
