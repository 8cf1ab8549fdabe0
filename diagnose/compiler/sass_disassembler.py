"""NVIDIA's disassembler, asked for the names of machine instructions that kdiag's own table lacks."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .tileiras import find_program

# A family needs its "a" variant, which has all instructions of the family (as tileiras compiles for sm_90a).
_FIRST_WITH_VARIANT = 90
_INSTRUCTION = re.compile(r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s*(?:\{\s*)?(?:@!?U?P\w+\s+)?(?P<name>[A-Z][A-Z0-9_]*)")
_ILLEGAL = re.compile(r"at address 0x(?P<address>[0-9a-f]+)")
INSTRUCTION_BYTES = 16


def names_of(words: Sequence[bytes], architecture: str) -> dict[bytes, str]:
    """The mnemonic without modifiers of each 16-byte instruction that nvdisasm knows; empty where there is none.

    It refuses a file with an illegal instruction and says where, so these are taken out and the rest is asked again.
    """
    program = find_program("nvdisasm")
    left = list(dict.fromkeys(words))
    while program is not None and left:
        answer = _run(program, left, architecture)
        if answer.returncode == 0:
            found = filter(None, map(_INSTRUCTION.match, answer.stdout.splitlines()))
            return {left[int(each["address"], 16) // INSTRUCTION_BYTES]: each["name"] for each in found}
        illegal = {int(match["address"], 16) // INSTRUCTION_BYTES for match in _ILLEGAL.finditer(answer.stderr)}
        if not illegal:
            break
        left = [word for index, word in enumerate(left) if index not in illegal]
    return {}


def _run(program: Path, words: Sequence[bytes], architecture: str) -> subprocess.CompletedProcess[str]:
    number = architecture.removeprefix("sm_")
    variant = "a" if int(number) >= _FIRST_WITH_VARIANT else ""
    with tempfile.NamedTemporaryFile(prefix="kdiag-sass-") as file:
        file.write(b"".join(words))
        file.flush()
        command = [str(program), "--binary", f"SM{number}{variant}", "--no-dataflow", file.name]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
