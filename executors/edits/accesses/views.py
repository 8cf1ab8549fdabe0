"""Tile loads and stores, of arrays and of tiled views of arrays."""

import libcst as cst

from ..syntax.kernel_source import nodes
from ..syntax.kernel_view import KernelView


def tile_calls(kernel: KernelView, what: str) -> list[cst.Call]:
    """The calls of `ct.load` or `ct.store` (`what`), and of the method of that name of a tiled view, in text order."""
    return [
        call
        for call in nodes(kernel.source.function, cst.Call)
        if kernel.is_call(call, what) or _is_of_view(kernel, call, what)
    ]


def _is_of_view(kernel: KernelView, call: cst.Call, what: str) -> bool:
    """Whether it is `view.load(...)` for what certainly is `array.tiled_view(...)`."""
    match call.func:
        case cst.Attribute(value=view, attr=cst.Name(value=method)) if method == what:
            written, _ = kernel.resolve(view, call)
            match written:
                case cst.Call(func=cst.Attribute(attr=cst.Name(value="tiled_view"))):
                    return True
    return False
