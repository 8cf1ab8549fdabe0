"""The container of `.ncu-rep` files, read just far enough to tell a whole report from a damaged one.

`ncu_report` reads what it can and says nothing of the rest: half a file is a report with fewer launches, a block it
cannot parse is no launch at all. The container tells: after the magic and a header (a protocol buffer with the
version of the format) come blocks, each a length, a protocol buffer (field 2: number of results, field 5: size of
the payload) and the payload. Seen so in reports of ncu 2019 to 2025, which all have version 7.
"""

from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"NVR\0"
NEWEST = 7  # version of the format

_RESULTS, _PAYLOAD = 2, 5


class _Damaged(Exception):
    """The bytes do not follow the format, or end before they should."""


@dataclass(frozen=True)
class Container:
    """Version of the format, number of launches in whole blocks, and whether the file ends where a block does."""

    version: int
    launches: int
    whole: bool


def read_container(stream: BinaryIO, size: int) -> Container:
    """Walk the blocks of an open file of `size` bytes, positioned at its start, without reading the payloads."""
    version, launches = 0, 0
    try:
        stream.seek(len(MAGIC))
        version = _integers(_message(stream, size)).get(1, 0)
        while stream.tell() < size:
            header = _integers(_message(stream, size))
            end = stream.tell() + header.get(_PAYLOAD, size)  # the size of the payload is never left out
            if end > size:
                raise _Damaged
            stream.seek(end)
            launches += header.get(_RESULTS, 0)
    except _Damaged:
        return Container(version, launches, whole=False)
    return Container(version, launches, whole=True)


def _message(stream: BinaryIO, size: int) -> bytes:
    prefix = stream.read(4)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 4 or stream.tell() + length > size:
        raise _Damaged
    return stream.read(length)


def _integers(message: bytes) -> dict[int, int]:
    """The integer fields of a protocol buffer by number; all others are skipped."""
    found = {}
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        match key & 7:
            case 0:  # varint
                found[key >> 3], position = _varint(message, position)
            case 1:
                position += 8
            case 2:
                length, position = _varint(message, position)
                position += length
            case 5:
                position += 4
            case _:
                raise _Damaged
    if position > len(message):
        raise _Damaged
    return found


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if position >= len(message):
            raise _Damaged
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise _Damaged
