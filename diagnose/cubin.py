"""Reads what a cubin says of its kernels: machine code, registers, stack frame, shared memory.

A cubin is an ELF64 file. Machine code is in `.text.<kernel>`; the resources are attributes of `.nv.info` (one byte
format, one byte attribute, two bytes size, then the value), named as `cuobjdump -elf` prints them. The figures are
those of `cuobjdump -res-usage` (compared for sm_80, sm_90, sm_100 and sm_120).
Only the machine code is hashed, so that a line number in the debug sections does not look like a change.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kdiag.errors import KdiagError

EIATTR_FRAME_SIZE = 0x11
EIATTR_REGCOUNT = 0x2F
SIZED_VALUE = 0x04  # the attribute's format: two bytes of size, then that many bytes

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
SHT_SYMTAB = 2


class CubinError(KdiagError):
    """The bytes are not a cubin that this reader understands."""


@dataclass(frozen=True)
class KernelResources:
    """Per kernel: registers a thread, bytes of stack frame a thread, static shared memory a block, machine code."""

    registers: int | None
    stack_bytes: int | None
    shared_bytes: int
    code_bytes: int
    code_hash: str


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    data: bytes
    size: int
    link: int


def read_cubin(data: bytes) -> Mapping[str, KernelResources]:
    """The kernels of a cubin by symbol. Raises CubinError for anything that is not one."""
    try:
        sections = _sections(data)
        info = _attributes(sections)
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise CubinError(f"not a readable cubin: {error}") from None
    shared = {
        s.name.removeprefix(".nv.shared."): s.size for s in sections if s.name.startswith(".nv.shared.")
    }
    kernels = {}
    for section in sections:
        if not section.name.startswith(".text."):
            continue
        name = section.name.removeprefix(".text.")
        kernels[name] = KernelResources(
            registers=info.get((name, EIATTR_REGCOUNT)),
            stack_bytes=info.get((name, EIATTR_FRAME_SIZE)),
            shared_bytes=shared.get(name, 0),
            code_bytes=len(section.data),
            code_hash=hashlib.sha256(section.data).hexdigest(),
        )
    if not kernels:
        raise CubinError("not a readable cubin: it has no machine code")
    return kernels


def _sections(data: bytes) -> list[_Section]:
    if data[:5] != b"\x7fELF\x02":
        raise CubinError("not a readable cubin: it is not an ELF64 file")
    offset = struct.unpack_from("<Q", data, 0x28)[0]
    entry, count, names = struct.unpack_from("<HHH", data, 0x3A)
    if entry != _SECTION.size:
        raise CubinError("not a readable cubin: it has no section table")
    headers = [_SECTION.unpack_from(data, offset + index * entry) for index in range(count)]
    strings = _content(data, headers[names])
    return [
        _Section(_string(strings, header[0]), header[1], _content(data, header), header[5], header[6])
        for header in headers
    ]


def _content(data: bytes, header: tuple[int, ...]) -> bytes:
    kind, offset, size = header[1], header[4], header[5]
    if kind == 8:  # SHT_NOBITS: takes room in memory, not in the file
        return b""
    if offset + size > len(data):
        raise CubinError("not a readable cubin: it is cut off")
    return data[offset : offset + size]


def _string(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode()


def _attributes(sections: list[_Section]) -> dict[tuple[str, int], int]:
    """(kernel, attribute) -> value, for the attributes of `.nv.info` that name a function by its symbol index."""
    table = next((section for section in sections if section.kind == SHT_SYMTAB), None)
    if table is None:
        return {}
    strings = sections[table.link].data
    names = [_string(strings, symbol[0]) for symbol in _SYMBOL.iter_unpack(table.data)]
    found = {}
    for section in sections:
        if section.name == ".nv.info":
            for attribute, value in _sized_values(section.data):
                if attribute in (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE) and len(value) == 8:
                    index, figure = struct.unpack("<II", value)
                    found[(names[index], attribute)] = figure
    return found


def _sized_values(data: bytes) -> Iterator[tuple[int, bytes]]:
    position = 0
    while position + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        position += 4
        if form == SIZED_VALUE:
            yield attribute, data[position : position + size]
            position += size
