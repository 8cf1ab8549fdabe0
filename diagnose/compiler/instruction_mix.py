"""Counts the machine instructions of a kernel by what they do: its static instruction mix.

An instruction of sm_80 and newer takes 16 bytes, and its low 12 bits name the operation and the form of its operands.
Which name each value has is in `rules/sass/opcodes.toml`, which groups there are in `rules/sass/groups.toml`. The
counts are of places in the code, not of executions: they show that something is there, and by how much it outweighs
something else in straight-line code.
"""

from collections import Counter
from collections.abc import Mapping

from kdiag.rules.load_sass import load_groups, load_opcodes

from .cubin import CubinError, architecture, read_cubin
from .sass_disassembler import INSTRUCTION_BYTES, names_of

OPCODE_BITS = 12
UNKNOWN = "unknown"


def instruction_mix(cubin: bytes, kernel: str) -> Mapping[str, int]:
    """Instructions of the kernel with this symbol, with the functions it calls, by group; padding is left out.

    What neither the table nor an installed nvdisasm knows is counted as "unknown". Raises CubinError for what is not
    a cubin, or has no such kernel.
    """
    resources = read_cubin(cubin).get(kernel)
    if resources is None:
        raise CubinError(f"not a cubin of {kernel}")
    groups = load_groups()
    mix: Counter[str] = Counter()
    for name, count in mnemonics(resources.code, architecture(cubin)).items():
        mix[groups.get(name, UNKNOWN)] += count
    del mix["padding"]
    return dict(sorted(mix.items()))


def mnemonics(code: bytes, target: str) -> Counter[str]:
    """How often each operation occurs in machine code of an architecture such as "sm_90", "unknown" included."""
    table = load_opcodes(target)
    ends = range(INSTRUCTION_BYTES, len(code) + 1, INSTRUCTION_BYTES)
    words = Counter(code[end - INSTRUCTION_BYTES : end] for end in ends)
    unknown = [word for word in words if _opcode(word) not in table]
    asked = names_of(unknown, target) if unknown else {}
    found: Counter[str] = Counter()
    for word, count in words.items():
        found[table.get(_opcode(word)) or asked.get(word, UNKNOWN)] += count
    return found


def _opcode(word: bytes) -> int:
    return int.from_bytes(word[:2], "little") & ((1 << OPCODE_BITS) - 1)
