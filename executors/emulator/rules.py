"""Rules that cuTile's front end lets through and the tile compiler refuses, most of them without naming a line.

Found by compiling kernels that break them with tileiras 13.4; the texts of its own refusals are quoted.
"""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from cuda.tile import PaddingMode
from cuda.tile import _datatype as datatype
from cuda.tile._exception import TileTypeError
from cuda.tile._ir import ops as ir
from cuda.tile._ir.type import GatherScatterViewTy

MOST_ELEMENTS = 2**24  # "tile would exceed the maximum of 16777216 elements"
INDEX_BITS = 32

_FOR_EVERY_TYPE = (PaddingMode.UNDETERMINED, PaddingMode.ZERO)
_INFINITE = (PaddingMode.POS_INF, PaddingMode.NEG_INF)
# "failed to compile Tile IR program": the type cannot hold the value.
_CANNOT_HOLD = {datatype.float8_e4m3fn: _INFINITE, datatype.float8_e8m0fnu: (*_INFINITE, PaddingMode.NEG_ZERO)}


def check_rules(body: Any) -> None:
    """Raise cuTile's TileTypeError for the first operation that the tile compiler would refuse."""
    for operation in body.traverse():
        for broken in _broken(operation):
            raise TileTypeError(broken, operation.loc)


def _broken(operation: Any) -> Iterator[str]:
    yield from _RULES.get(type(operation), _no_rules)(operation)
    for variable in operation.result_vars:
        shape = getattr(variable.try_get_type(), "shape", ())
        if isinstance(shape, tuple) and None not in shape and prod(shape) > MOST_ELEMENTS:
            yield f"A tile of shape {shape} has {prod(shape)} elements; the most is {MOST_ELEMENTS}"


def _no_rules(_: Any) -> Iterator[str]:
    yield from ()


def _view(operation: Any) -> Iterator[str]:
    """Rank, size and padding of the tiles of an array."""
    kind = operation.result_var.get_type()
    shape, rank = kind.tile_shape, kind.array_ty.ndim
    if len(shape) != rank:  # "expected tensor_view rank and tile rank to match"
        yield f"A tile of shape {shape} does not match the array, whose rank is {rank}"
    mode, dtype = kind.padding_mode, kind.array_ty.dtype
    if mode in _CANNOT_HOLD.get(dtype, ()):
        yield f"The padding {mode.name} cannot be represented in {dtype}"
    # "padding_value neg_inf can only be used with floating point element types"
    if mode not in _FOR_EVERY_TYPE and (datatype.is_integral(dtype) or datatype.is_boolean(dtype)):
        yield f"The padding {mode.name} is for arrays of floats; the array holds {dtype}"


def _access(operation: Any) -> Iterator[str]:
    """The types of the indices; those of 64 bits are cut to 32 on their way to the compiler."""
    kind = operation.view.get_type()
    widths = [variable.get_type().dtype.bitwidth for variable in operation.index]
    if isinstance(kind, GatherScatterViewTy):
        width = widths[kind.sparse_dim]
        if width != INDEX_BITS:  # "'cuda_tile.trunci' op failed to verify that all of {from, to} have same shape"
            yield f"The tile of indices has {width} bits; it must have {INDEX_BITS}"
    elif len({min(width, INDEX_BITS) for width in widths}) > 1:
        # "expected index type 1 to be the same as other index types"
        yield f"The indices of a tile must be of one type; they have {widths} bits"


def _part(operation: Any) -> Iterator[str]:
    # "operand #1 must be variadic of 0D tile of i32 values"
    widths = [variable.get_type().dtype.bitwidth for variable in operation.index]
    if any(width != INDEX_BITS for width in widths):
        yield f"The index of a part of a tile must have {INDEX_BITS} bits; it has {widths}"


def _divisor(operation: Any) -> Iterator[str]:
    # "divisor must be a power of 2"
    divisor = operation.divisor
    if divisor & (divisor - 1):
        yield f"The divisor {divisor} of an assumption is not a power of two"


_RULES: dict[type, Callable[[Any], Iterator[str]]] = {
    ir.MakePartitionView: _view,
    ir.MakeStridedView: _view,
    ir.MakeGatherScatterView: _view,
    ir.TileLoad: _access,
    ir.TileStore: _access,
    ir.TileExtract: _part,
    ir.TileInsert: _part,
    ir.AssumeDivBy: _divisor,
}
