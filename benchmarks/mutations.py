"""Damages reports the way disks, networks, editors and other profilers do; each mutation is fixed by its seed."""

import random
import re
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]

_NAME = re.compile(rb"[a-z0-9]+__[a-z0-9_.]+")
_UNIT = re.compile(rb'(?<=["\n\x02\x04\x05])(ns|us|ms|byte|Kbyte|Gbyte|hz|Ghz|%|inst|cycle)(?=["\x12\n])')
_NUMBER = re.compile(rb'(?<=")-?[\d,]*\.?\d+(?=")')
_VALUES = (b"n/a", b"(!) nan", b"-5", b"1e400", b"9" * 400, b"", b"1,2,3", b"1;2", b"0x1f", b"nan", b"inf", b"-0.0")


def flip_bits(chance: random.Random, content: bytes) -> bytes:
    """Flip between one and a thousand bits."""
    damaged = bytearray(content)
    for _ in range(chance.choice([1, 1, 3, 30, 1000])):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def truncate(chance: random.Random, content: bytes) -> bytes:
    """Keep the beginning."""
    return content[: chance.randrange(len(content))]


def delete(chance: random.Random, content: bytes) -> bytes:
    """Take something out of the middle."""
    start = chance.randrange(len(content))
    return content[:start] + content[start + chance.randrange(1, 5000) :]


def overwrite(chance: random.Random, content: bytes) -> bytes:
    """Write zeros or noise over a part."""
    start, length = chance.randrange(len(content)), chance.randrange(1, 5000)
    return content[:start] + chance.choice([bytes(length), chance.randbytes(length)]) + content[start + length :]


def rename_metrics(chance: random.Random, content: bytes) -> bytes:
    """Give up to a hundred metrics another name of the same length: most are lost, some take another's place."""
    names = sorted(set(_NAME.findall(content)))
    for name in chance.sample(names, min(len(names), chance.choice([1, 10, 100]))):
        alike = [other for other in names if len(other) == len(name)]
        content = content.replace(name, chance.choice([*alike, b"x" * len(name)]))
    return content


def swap_units(chance: random.Random, content: bytes) -> bytes:
    """Put other units where some stand."""
    units = [b"ns", b"us", b"ms", b"byte", b"Gbyte", b"%", b"inst", b"fortnight", b""]

    def other(match: re.Match[bytes]) -> bytes:
        alike = [unit for unit in units if len(unit) == len(match[0])] or [match[0]]
        return chance.choice(units if not content.startswith(b"NVR") else alike) if chance.random() < 0.3 else match[0]

    return _UNIT.sub(other, content)


def change_values(chance: random.Random, content: bytes) -> bytes:
    """Put text, impossible and ambiguous numbers where numbers are printed."""
    share = chance.choice([0.01, 0.2])
    return _NUMBER.sub(lambda match: chance.choice(_VALUES) if chance.random() < share else match[0], content)


def shuffle_lines(chance: random.Random, content: bytes) -> bytes:
    """Repeat, drop and exchange lines, headers among them."""
    lines = content.splitlines(keepends=True)
    for _ in range(chance.choice([1, 5])):
        at = chance.randrange(len(lines))
        match chance.randrange(3):
            case 0:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 1 if len(lines) > 1:
                del lines[at]
            case _:
                lines.insert(at, b"step 7 \xff\x00 loss\n")
    return b"".join(lines)


def drop_columns(chance: random.Random, content: bytes) -> bytes:
    """Take a column out of some or all lines."""
    at, share = chance.randrange(20), chance.choice([0.3, 1.0])
    lines = content.splitlines(keepends=True)
    for index, line in enumerate(lines):
        cells = line.split(b'","')
        if at < len(cells) and chance.random() < share:
            lines[index] = b'","'.join(cells[:at] + cells[at + 1 :])
    return b"".join(lines)


def encode_anew(chance: random.Random, content: bytes) -> bytes:
    """Write text as other programs do, and cut it."""
    text = content.decode("utf-8", errors="replace")
    encoding = chance.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
    line_end = chance.choice(["\n", "\r\n", "\r"])
    encoded = text.replace("\n", line_end).encode(encoding, errors="replace")
    return encoded[: chance.choice([len(encoded), len(encoded) - 1, chance.randrange(len(encoded))])]


BINARY: tuple[Mutation, ...] = (flip_bits, truncate, delete, overwrite, rename_metrics, swap_units)
TEXT: tuple[Mutation, ...] = (*BINARY, change_values, shuffle_lines, drop_columns, encode_anew)
