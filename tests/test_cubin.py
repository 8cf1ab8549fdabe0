"""The reader of cubins: what it finds in a file built by hand, and that broken files are one clear error."""

import contextlib
import struct
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.compiler.cubin import (
    EIATTR_FRAME_SIZE,
    EIATTR_NUM_BARRIERS,
    EIATTR_REGCOUNT,
    EIATTR_REQNTID,
    CubinError,
    architecture,
    read_cubin,
)

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_NOBITS = 1, 2, 3, 8
EIATTR_MAX_THREADS = 0x05


@dataclass
class Section:
    name: str
    kind: int
    data: bytes
    link: int = 0
    size: int | None = None


def elf(*sections, abi=8, flags=0xB005A04):
    """An ELF64 file of these sections, the table of their names last; by its flags it is for sm_90a."""
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section in sections) + b".shstrtab\0"
    every = [*sections, Section(".shstrtab", SHT_STRTAB, names)]
    content, headers = b"", b""
    for section in every:
        name = names.index(b"\0" + section.name.encode() + b"\0") + 1
        size = len(section.data) if section.size is None else section.size
        headers += struct.pack("<IIQQQQIIQQ", name, section.kind, 0, 0, 64 + len(content), size, section.link, 0, 1, 0)
        content += section.data
    start = b"\x7fELF\x02\x01\x01" + bytes([65, abi]) + bytes(7)
    rest = struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(content), flags, 64, 0, 0, 64, len(every), len(every) - 1
    )
    return start + rest + content + headers


def attribute(number, symbol, value):
    return struct.pack("<BBHII", 4, number, 8, symbol, value)


def cubin(*sections, code=b"machine code", registers=40):
    """A cubin with the kernels `one`, which has resources, and `two`, of which only the code is there."""
    symbols = b"".join(struct.pack("<IBBHQQ", name, 0, 0, 0, 0, 0) for name in (0, 1, 5))
    info = (
        struct.pack("<BBH", 3, EIATTR_MAX_THREADS, 256)  # a value of the short format, to be passed over
        + attribute(EIATTR_REGCOUNT, 1, registers)
        + attribute(EIATTR_FRAME_SIZE, 1, 1808)
    )
    own = (
        struct.pack("<BBBB", 2, EIATTR_NUM_BARRIERS, 3, 0)  # a value of one byte
        + struct.pack("<BBH", 4, EIATTR_REQNTID, 12)
        + struct.pack("<III", 96, 2, 1)
    )
    return elf(
        Section(".symtab", SHT_SYMTAB, symbols, link=1),
        Section(".strtab", SHT_STRTAB, b"\0one\0two\0"),
        Section(".nv.info", SHT_PROGBITS, info),
        Section(".nv.info.one", SHT_PROGBITS, own),
        Section(".debug_line", SHT_PROGBITS, b"line numbers"),
        Section(".text.one", SHT_PROGBITS, code),
        Section(".text.two", SHT_PROGBITS, b""),
        Section(".nv.shared.one", SHT_NOBITS, b"", size=197_784),
        *sections,
    )


def test_the_resources_of_each_kernel_by_symbol():
    kernels = read_cubin(cubin())
    assert list(kernels) == ["one", "two"]
    one, two = kernels["one"], kernels["two"]
    assert (one.registers, one.stack_bytes, one.shared_bytes, one.code_bytes) == (40, 1808, 197_784, 12)
    assert (two.registers, two.stack_bytes, two.shared_bytes, two.code_bytes) == (None, None, 0, 0)
    assert (one.threads, one.barriers, one.code) == (192, 3, b"machine code")
    assert (two.threads, two.barriers) == (None, 0)


def test_what_the_driver_keeps_of_a_block_is_not_the_kernels():
    assert read_cubin(cubin())["one"].shared_bytes == 197_784
    kept = read_cubin(cubin(Section(".nv.shared.reserved.0", SHT_NOBITS, b"", size=64)))
    assert [each.shared_bytes for each in kept.values()] == [196_760, 0]


def test_the_architecture_is_in_the_flags_where_the_version_of_the_format_puts_it():
    assert architecture(elf()) == "sm_90"
    assert architecture(elf(flags=0xB006402)) == "sm_100"
    assert architecture(elf(abi=7, flags=0x550556)) == "sm_86"
    with pytest.raises(CubinError, match="not an ELF64 file"):
        architecture(b"\x7fELF\x02")


def test_the_hash_is_of_the_machine_code_alone():
    first = read_cubin(cubin())["one"].code_hash
    assert read_cubin(cubin(registers=41).replace(b"line numbers", b"LINE NUMBERS"))["one"].code_hash == first
    assert read_cubin(cubin(code=b"Machine code"))["one"].code_hash != first


def test_a_file_without_machine_code_is_refused():
    with pytest.raises(CubinError, match="no machine code"):
        read_cubin(elf(Section(".nv.info", SHT_PROGBITS, b"")))


@given(st.data())
def test_damage_anywhere_is_a_clear_error_or_does_no_harm(data):
    damaged = bytearray(cubin())
    for position in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=8)):
        damaged[position] = data.draw(st.sampled_from([0x00, 0x7F, 0x80, 0xFF]))
    cut = data.draw(st.integers(0, len(damaged)))
    for file in (bytes(damaged), bytes(damaged[:cut])):
        with contextlib.suppress(CubinError):
            read_cubin(file)


@given(st.binary(max_size=400), st.booleans())
def test_bytes_that_are_no_cubin_are_one_clear_error(data, marked):
    with pytest.raises(CubinError, match=r"^not a readable cubin: (?!not a)"):
        read_cubin(b"\x7fELF\x02" + data if marked else data)
