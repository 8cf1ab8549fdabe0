"""Kernel symbols: the Python function behind a cuTile symbol, and the constants it was compiled for.

A cuTile symbol is `<python name>_K<calling convention>_<parameter>_<parameter>...`, each parameter a letter and what
the compiler assumed of it: `softmax_k_Kt1_A2bf16_1v8l0_2t1_3i16_p16_I4096` takes a bf16 array of rank 2 and the
constant 4096. The grammar is the one `cuda.tile.compilation.mangle_kernel_name` of cuda-tile 1.7 writes; this decoder
needs no cuda-tile. Constants carry no names in a symbol, only their position among the parameters.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kdiag.records import Scalar

Kind = Literal["array", "list", "tuple", "dataclass", "scalar", "pointer", "tensor-map", "stream", "constant", "dtype"]

DTYPES = {
    "b8": "bool", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "tf32": "tfloat32",
    "f8m3fn": "float8_e4m3fn", "f8m2": "float8_e5m2", "f8m0fnu": "float8_e8m0fnu",
}  # fmt: skip

# The signature never holds "_K" (its strings escape the letter), so the last one ends the name.
_SYMBOL = re.compile(r"(?P<name>\w+)_K(?P<convention>[a-z]+\d+)(?=_|$)", re.ASCII)
_LETTER = re.compile(r"[A-BD-Z]|C[a-z0-9]+_")
_DTYPE = re.compile(r"[a-z][a-z0-9]*")
_SEPARATOR = re.compile("_")
_BIT = re.compile("[01]")
_DIGITS = re.compile(r"\d{1,4}")
_SIGNED = re.compile(r"_?\d{1,400}")
_HEX16 = re.compile(r"[0-9a-f]{16}")
# Axes as a bit mask with what is known of their extents and strides (s, i; t, v, l), then alignment, alias groups,
# overlapping elements and the type of the indices. They decide how fast the code is, but have no names to report.
_ASSUMPTIONS = re.compile(
    r"(_[0-9a-f]+(?=[sitvl])(s_?\d+)?(i_?\d+)?(t_?\d+)?(v_?\d+)?(l_?\d+)?)*"
    r"(_(?=[pgiuw])(p\d+)?(g[0-9a-f]+)*i?[uw]?)?"
)
_LIST = re.compile(r"(g[0-9a-f]+)*i?")
_STRING = re.compile(r"(?:[a-zA-JL-Z0-9]|_(?:[_k]|u[0-9a-f]{4}|w[0-9a-f]{8}|[0-9a-f]{2}))*_z")
_ESCAPE = re.compile(r"_(_|k|u[0-9a-f]{4}|w[0-9a-f]{8}|[0-9a-f]{2})")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel as its symbol describes it; `items` are those of a list, tuple or dataclass."""

    kind: Kind
    dtype: str | None = None
    rank: int | None = None
    value: Scalar = None
    items: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Constant:
    """A compile-time value: the position of its parameter, from 0, and where in it when that is a tuple."""

    position: int
    value: Scalar
    item: tuple[int, ...] = ()


@dataclass(frozen=True)
class CutileSymbol:
    """What a cuTile symbol says. `parameters` is None when it was made by a newer grammar than is known here."""

    name: str
    convention: str
    parameters: tuple[Parameter, ...] | None

    @property
    def constants(self) -> tuple[Constant, ...]:
        """All compile-time values, in the order of the parameters."""
        found = []
        for position, parameter in enumerate(self.parameters or ()):
            found += [Constant(position, value, item) for item, value in _values(parameter)]
        return tuple(found)


def decode(symbol: str) -> CutileSymbol | None:
    """Return what a cuTile symbol says, or None for the symbol of any other kernel."""
    match = _SYMBOL.match(symbol)
    if match is None:
        return None
    return CutileSymbol(match["name"], match["convention"], _parameters(symbol, match.end()))


def _parameters(symbol: str, start: int) -> tuple[Parameter, ...] | None:
    cursor = _Cursor(symbol, start)
    found = []
    try:
        while cursor.position < len(symbol):
            cursor.take(_SEPARATOR)
            found.append(_parameter(cursor))
    except (_Unknown, RecursionError):  # no compiler nests tuples that deep, a damaged report may
        return None
    return tuple(found)


def python_name(symbol: str) -> str:
    """Return the Python function behind a cuTile symbol, or any other symbol as it is."""
    decoded = decode(symbol)
    return symbol if decoded is None else decoded.name


def function_name(symbol: str) -> str:
    """Return the bare name in a demangled C++ signature: no type, namespaces, template arguments or parameters."""
    outside, depth = [], 0
    for character in symbol.replace("<unnamed>::", "").replace("(anonymous namespace)::", ""):
        if character == "(" and depth == 0:
            break
        depth += {"<": 1, ">": -1, "[": 1, "]": -1}.get(character, 0)
        if depth == 0 and character not in ">]":
            outside.append(character)
    words = "".join(outside).replace("::", " ").split()
    return words[-1] if words else symbol


def name_constants(constants: Sequence[Constant], parameter_names: Sequence[str]) -> Mapping[str, Scalar]:
    """Return the constants by the names of the kernel's parameters in its source; items of a tuple as `tiles[0]`.

    Empty if there are fewer names than the symbol has parameters: then the source is not what was compiled.
    """
    if any(constant.position >= len(parameter_names) for constant in constants):
        return {}
    return {
        parameter_names[constant.position] + "".join(f"[{index}]" for index in constant.item): constant.value
        for constant in constants
    }


def _values(parameter: Parameter) -> Iterator[tuple[tuple[int, ...], Scalar]]:
    if parameter.kind in {"constant", "dtype"}:
        yield (), parameter.dtype if parameter.kind == "dtype" else parameter.value
    for index, item in enumerate(parameter.items):
        for path, value in _values(item):
            yield (index, *path), value


class _Unknown(Exception):
    """The text does not follow the grammar."""


@dataclass
class _Cursor:
    text: str
    position: int

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise _Unknown
        self.position = match.end()
        return match[0]

    def take_dtype(self) -> str:
        code = self.take(_DTYPE)
        if code not in DTYPES:
            raise _Unknown
        return DTYPES[code]

    def take_string(self) -> str:
        return _ESCAPE.sub(_unescape, self.take(_STRING).removesuffix("_z"))


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code in {"_", "k"}:
        return {"_": "_", "k": "K"}[code]
    point = int(code.lstrip("uw"), 16)
    if point > 0x10FFFF:
        raise _Unknown
    return chr(point)


def _parameter(cursor: _Cursor) -> Parameter:
    read = _PARAMETERS.get(cursor.take(_LETTER))
    if read is None:
        raise _Unknown
    return read(cursor)


def _array(cursor: _Cursor) -> Parameter:
    rank = int(cursor.take(_DIGITS))
    dtype = cursor.take_dtype()
    cursor.take(_ASSUMPTIONS)
    return Parameter("array", dtype, rank)


def _list(cursor: _Cursor) -> Parameter:
    cursor.take(_LIST)
    return Parameter("list", items=(_parameter(cursor),))


def _dataclass(cursor: _Cursor) -> Parameter:
    cursor.take_string()  # the module of the class
    cursor.take_string()  # its qualified name
    return Parameter("dataclass", items=_items(cursor))


def _items(cursor: _Cursor) -> tuple[Parameter, ...]:
    return tuple(_parameter(cursor) for _ in range(int(cursor.take(_DIGITS))))


def _float(cursor: _Cursor) -> float:
    value: float = struct.unpack(">d", bytes.fromhex(cursor.take(_HEX16)))[0]
    return value


def _enumerator(cursor: _Cursor) -> str:
    _module, name, member = (cursor.take_string() for _ in range(3))
    return f"{name}.{member}"


_PARAMETERS: Mapping[str, Callable[[_Cursor], Parameter]] = {
    "A": _array,
    "L": _list,
    "T": lambda cursor: Parameter("tuple", items=_items(cursor)),
    "D": _dataclass,
    "S": lambda cursor: Parameter("scalar", cursor.take_dtype()),
    "P": lambda cursor: Parameter("pointer", cursor.take_dtype()),
    "M": lambda cursor: Parameter("tensor-map"),
    "R": lambda cursor: Parameter("stream"),
    "B": lambda cursor: Parameter("constant", value=cursor.take(_BIT) == "1"),
    "I": lambda cursor: Parameter("constant", value=int(cursor.take(_SIGNED).replace("_", "-"))),
    "F": lambda cursor: Parameter("constant", value=_float(cursor)),
    "Cn_": lambda cursor: Parameter("constant", value=None),
    "Cs_": lambda cursor: Parameter("constant", value=cursor.take_string()),
    "Ce_": lambda cursor: Parameter("constant", value=_enumerator(cursor)),
    "Cd_": lambda cursor: Parameter("dtype", cursor.take_dtype()),
}
