"""From a kernel and the signature of its launch to the IR that cuTile's own front end makes of it.

The front end decides types, promotion, constants, static evaluation, inlining and fused operations, so that what is
emulated is what would be compiled. The IR is cuda-tile 1.7's; it has no public interface.
"""

from collections import OrderedDict
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from types import FunctionType
from typing import Any

from cuda.tile import MemoryOrder
from cuda.tile import _datatype as datatype
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._compile import compile_tile
from cuda.tile._exception import TileError
from cuda.tile._ir import ops as ir
from cuda.tile._ir.control_flow_ops import Loop
from cuda.tile._ir.core_ops import TilePrintf
from cuda.tile.compilation import KernelSignature

from kdiag.errors import ToolMissing
from kdiag.records import Fault

from .dtypes import is_stored
from .faults import NotEmulated, place
from .gathers import Gather, find_gathers, index_arithmetic, stored_bases
from .interpreter import CONTROL_FLOW, HANDLERS
from .parts import Part, find_slices
from .rules import check_rules

BYTECODE = BytecodeVersion.V_13_4  # of the tile compiler that kdiag pins


UPDATES = (ir.TileAtomicRMW, ir.TileAtomicRedView)


@dataclass(frozen=True)
class Code:
    """A kernel's IR for one signature, and what is found out about it once.

    `stored` are the parameters whose memory it may write, by the name of their base pointer; None if that is not known.
    `gathers` by the name of the pointer, `slices` by that of the array; `index_arithmetic` holds the integer operations
    that indices come from; `used` are the names of the variables that some operation uses; `lockstep` says whether blocks may run in
    lockstep: none waits for another or uses what another's atomics left; `may_wait`, that one may wait for another in a loop.
    """

    body: Any
    gathers: dict[str, Gather]
    slices: dict[str, Part]
    index_arithmetic: frozenset[Any]
    used: frozenset[str]
    lockstep: bool
    may_wait: bool
    largest_tile: int
    stored: frozenset[str] | None


_KNOWN: OrderedDict[tuple[FunctionType, str, str], Code] = OrderedDict()
MOST_KNOWN = 256  # the IR of a kernel holds its function, so what is kept must be bounded


def front_end(function: FunctionType, signature: KernelSignature, target: str) -> Code:
    """The IR of a kernel's Python function for a signature and a target such as "sm_90"; kept for the next launch.

    Raises cuTile's own error for a kernel that breaks its rules, NotEmulated for what the emulator does not know.
    """
    key = (function, str(signature.symbol), target)  # the symbol spells the whole signature
    if key not in _KNOWN:
        _KNOWN[key] = _compiled(function, signature, target)
        if len(_KNOWN) > MOST_KNOWN:
            _KNOWN.popitem(last=False)
    return _KNOWN[key]


def _compiled(function: FunctionType, signature: KernelSignature, target: str) -> Code:
    if not version("cuda-tile").startswith("1.7."):
        raise ToolMissing(f"The emulator reads the IR of cuda-tile 1.7, not of {version('cuda-tile')}; install 1.7.")
    result = compile_tile(
        function, [signature], sm_arch=target, bytecode_version=BYTECODE, return_final_ir=True, return_cubin=False
    )
    assert result.final_ir is not None
    body = result.final_ir[0]
    check_rules(body)
    _refuse_unknown(body)
    _refuse_misplaced(body, {parameter.name for parameter in body.params})
    used = frozenset(variable.name for operation in body.traverse() for variable in operation.all_inputs())
    return Code(
        body,
        find_gathers(body, signature.parameters),
        find_slices(body, signature.parameters),
        index_arithmetic(body),
        used,
        lockstep := _in_lockstep(body, used),
        not lockstep and any(isinstance(one, Loop) and not one.is_for_loop for one in body.traverse()),
        max(map(_elements, body.traverse()), default=1),
        stored_bases(body),
    )


def _refuse_unknown(body: Any) -> None:
    for operation in body.traverse():
        if type(operation) not in HANDLERS and type(operation) not in CONTROL_FLOW:
            file, line, _ = place(operation.loc)
            raise NotEmulated(f"{file}:{line}: the operation {operation.op} is not emulated.")
        for variable in operation.result_vars:
            dtype = getattr(variable.try_get_type(), "dtype", None)
            if dtype is not None and datatype.is_numeric(dtype) and not is_stored(dtype):
                file, line, _ = place(operation.loc)
                raise NotEmulated(f"{file}:{line}: the type {dtype} is not emulated.")


def _refuse_misplaced(block: Any, known: set[str]) -> None:
    """Raise NotEmulated for an operation that stands before what it uses.

    The front end of 1.7 moves a loop out of another although its bounds are made there.
    """
    known = set(known)
    for operation in block:
        for variable in operation.all_inputs():
            if variable.name not in known:
                file, line, _ = place(operation.loc)
                raise NotEmulated(
                    f"{file}:{line}: cuda-tile {version('cuda-tile')} moved the {operation.op} of this line in front of "
                    "what it uses, which is a fault of its front end; write it so that its operands change in its loop."
                )
        for inner in operation.nested_blocks:
            _refuse_misplaced(inner, known | {variable.name for variable in inner.params})
        known |= {variable.name for variable in operation.result_vars}


def _elements(operation: Any) -> int:
    most = 1
    for variable in operation.result_vars:
        shape = getattr(variable.try_get_type(), "shape", ())
        if isinstance(shape, tuple) and all(isinstance(size, int) for size in shape):
            most = max(most, prod(shape))
    return most


def _in_lockstep(body: Any, used: frozenset[str]) -> bool:
    """No block waits for another or uses what another's atomics left, and each updates memory atomically once at most.

    Sums of floats, and unlike updates of one place, depend on the order of the updates.
    """
    updates = [one for one in body.traverse() if isinstance(one, UPDATES)]
    repeated = any(
        isinstance(one, UPDATES) for loop in body.traverse() if isinstance(loop, Loop) for one in loop.body.traverse()
    )
    if len(updates) > 1 or repeated:
        return False
    return not any(_orders_blocks(operation, used) for operation in body.traverse())


def _orders_blocks(operation: Any, used: frozenset[str]) -> bool:
    if isinstance(operation, ir.TileAtomicCAS | TilePrintf):
        return True
    if isinstance(operation, ir.TileAtomicRMW):
        return operation.result_vars[0].name in used or operation.mode is ir.AtomicRMWMode.EXCHANGE
    if isinstance(operation, ir.TileLoad | ir.TileStore):
        return operation.memory_order not in (MemoryOrder.WEAK, MemoryOrder.RELAXED)
    return False


def rule_broken(kernel: str, error: TileError) -> Fault:
    """What cuTile says of a kernel that breaks its rules, and where."""
    text = (getattr(error, "message", "") or str(error)).splitlines()[0]
    return Fault("type-rule", kernel, *place(error.loc), text)
