"""The interpreter with the handlers of all operations that it knows."""

from cuda.tile._ir.control_flow_ops import Break, Continue, EndBranch, IfElse, Loop, Return
from cuda.tile._ir.ops import TileReduce, TileScan

from . import atomics, diagnostics, elementwise, memory_operations, products, shapes
from .control_flow import Handler, Interpreter
from .reductions import Reductions

CONTROL_FLOW = frozenset({Break, Continue, EndBranch, IfElse, Loop, Return})

HANDLERS: dict[type, Handler] = {
    **atomics.HANDLERS,
    **diagnostics.HANDLERS,
    **elementwise.HANDLERS,
    **memory_operations.HANDLERS,
    **products.HANDLERS,
    **shapes.HANDLERS,
}

INTERPRETER = Interpreter(HANDLERS)
_REDUCTIONS = Reductions(INTERPRETER.run)
HANDLERS[TileReduce] = _REDUCTIONS.reduce
HANDLERS[TileScan] = _REDUCTIONS.scan
