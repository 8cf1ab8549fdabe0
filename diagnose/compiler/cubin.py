"""Reads what a cubin says of its kernels: machine code, threads, registers, stack frame, shared memory, barriers.

A cubin is an ELF64 file. Machine code is in `.text.<kernel>`; the resources are attributes of `.nv.info` and
`.nv.info.<kernel>` (one byte format, one byte attribute, two bytes of value or of its size), named as
`cuobjdump -elf` prints them. The figures are those of `cuobjdump -res-usage` (compared for sm_80, sm_90, sm_100 and
sm_120), but for shared memory: from sm_90 on the compiler counts the 1,024 bytes of a block that the driver keeps
for itself, and Nsight Compute does not. It is all static in what cuTile compiles (its launcher computes a dynamic size
for CUDA-lang kernels only), and the block is the one the compiler asks for (EIATTR_REQNTID; launches pass 1).
Only the machine code is hashed, so that a line number in the debug sections does not look like a change.
"""

import hashlib
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kdiag.errors import KdiagError

EIATTR_REQNTID = 0x10
EIATTR_FRAME_SIZE = 0x11
EIATTR_REGCOUNT = 0x2F
EIATTR_NUM_BARRIERS = 0x4C
BYTE_VALUE = 0x02  # the attribute's format: the value is one byte, then one of padding
SIZED_VALUE = 0x04  # two bytes of size, then that many bytes

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
# In a section of its own name where the compiler counts it; `.nv.reservedSmem.cap` has its size from sm_100 on.
RESERVED, RESERVED_BYTES = ".nv.shared.reserved.", 1024

_HEADER_BYTES = 64
SHT_SYMTAB = 2


class CubinError(KdiagError):
    """The bytes are not a cubin that this reader understands."""


@dataclass(frozen=True)
class KernelResources:
    """Per kernel: registers and bytes of stack frame a thread; threads, bytes of static shared memory and barriers a
    block; machine code.
    """

    registers: int | None
    stack_bytes: int | None
    shared_bytes: int
    threads: int | None
    barriers: int
    code: bytes

    @property
    def code_bytes(self) -> int:
        return len(self.code)

    @property
    def code_hash(self) -> str:
        """SHA-256 of the machine code alone."""
        return hashlib.sha256(self.code).hexdigest()


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
        info = _of_functions(sections) | _of_kernels(sections)
    except (struct.error, IndexError, OverflowError, ValueError) as error:
        raise CubinError(f"not a readable cubin: {error}") from None
    reserved = RESERVED_BYTES if any(s.name.startswith(RESERVED) for s in sections) else 0
    shared = {
        s.name.removeprefix(".nv.shared."): max(0, s.size - reserved)
        for s in sections
        if s.name.startswith(".nv.shared.")
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
            threads=info.get((name, EIATTR_REQNTID)),
            barriers=info.get((name, EIATTR_NUM_BARRIERS), 0),
            code=section.data,
        )
    if not kernels:
        raise CubinError("not a readable cubin: it has no machine code")
    return kernels


def architecture(data: bytes) -> str:
    """The architecture a cubin is for, as "sm_90". Raises CubinError for what is not one."""
    if len(data) < _HEADER_BYTES or data[:5] != b"\x7fELF\x02":
        raise CubinError("not a readable cubin: it is not an ELF64 file")
    flags: int = struct.unpack_from("<I", data, 0x30)[0]
    # From ABI 8 on (CUDA 13) the second byte of the flags holds it, before that the first.
    return f"sm_{(flags >> 8 if data[8] >= 8 else flags) & 0xFF}"


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


def _of_functions(sections: list[_Section]) -> dict[tuple[str, int], int]:
    """(kernel, attribute) -> value, for the attributes of `.nv.info` that name a function by its symbol index."""
    table = next((section for section in sections if section.kind == SHT_SYMTAB), None)
    if table is None:
        return {}
    strings = sections[table.link].data
    names = [_string(strings, symbol[0]) for symbol in _SYMBOL.iter_unpack(table.data)]
    found = {}
    for section in sections:
        if section.name == ".nv.info":
            for _, attribute, value in _attributes(section.data):
                if attribute in (EIATTR_REGCOUNT, EIATTR_FRAME_SIZE) and len(value) == 8:
                    index, figure = struct.unpack("<II", value)
                    found[(names[index], attribute)] = figure
    return found


def _of_kernels(sections: list[_Section]) -> dict[tuple[str, int], int]:
    """(kernel, attribute) -> value, for the attributes of each `.nv.info.<kernel>`."""
    found = {}
    for section in sections:
        if not section.name.startswith(".nv.info."):
            continue
        name = section.name.removeprefix(".nv.info.")
        for form, attribute, value in _attributes(section.data):
            if attribute == EIATTR_REQNTID and len(value) == 12:
                found[(name, attribute)] = math.prod(struct.unpack("<III", value))
            elif attribute == EIATTR_NUM_BARRIERS and form == BYTE_VALUE:
                found[(name, attribute)] = value[0]
    return found


def _attributes(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The format, the number and the value of each attribute; two bytes of value unless it has a size."""
    position = 0
    while position + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        position += 4
        if form == SIZED_VALUE:
            yield form, attribute, data[position : position + size]
            position += size
        else:
            yield form, attribute, data[position - 2 : position]
