"""How long a warp that runs alone takes for a turn of a kernel's loops: what decides where few warps share an SM.

Machine code tells the hardware's scheduler when to go on: each instruction of sm_80 and newer holds the cycles until the next
one, up to two of six barriers that it lifts when its result is there or its operands are read, and those that it waits for
(Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018, section 2.1; the same bits hold here).
Played through, this gives the cycles of a turn: loads that wait for one another add up, others overlap.

What cannot be seen is assumed: an access that a branch skips is made, the slow path of a division is not taken, and memory
answers after MEMORY cycles. No other warp is in the way, and nobody waits at a barrier of the block.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kdiag.records import LoopTurn
from kdiag.rules.load_sass import load_groups, load_opcodes

from .instruction_mix import OPCODE_BITS
from .sass_disassembler import INSTRUCTION_BYTES

# Cycles until a result is there. A recurrence (one warp a scheduler) then takes 1,198 for each of its steps, measured 1,280 (H200).
MEMORY = 700
LATENCY = {"global_load": MEMORY, "atomic": MEMORY, "local_load": 40, "shared_load": 30, "constant_load": 30}
OTHERS = 20
READ = 20  # until the operands of a store are read
UNROLLED = 4  # times, where the code does not say
TURNS = 4  # played; what the first one waits for is not counted
BARRIERS = 6
ALWAYS = 7  # the predicate PT
BYTES = (1, 1, 2, 2, 4, 8, 16)  # of a load, by the code of its size
ADDS = ("IADD3", "VIADD", "UIADD3", "UVIADD")
IMMEDIATE = 4  # the form of an operation whose second operand is a number


@dataclass(frozen=True)
class _Instruction:
    """One machine instruction of 128 bits, as a number."""

    word: int
    name: str
    group: str
    target: int | None

    def bits(self, first: int, count: int) -> int:
        return self.word >> first & ((1 << count) - 1)

    @property
    def loads(self) -> bool:
        return self.group == "global_load"


def loop_turn(code: bytes, architecture: str) -> LoopTurn | None:
    """A turn of each innermost loop that loads from memory, added up; None where there is none that is understood.

    That is the case for loads by TMA, too, which other threads wait for than those that ask. What is left over by an
    unrolled loop has a loop of its own, which does not count.
    """
    instructions = _decoded(code, architecture)
    loops = _innermost(instructions)
    if any(instructions[at].group == "tma_load" for loop in loops for at in loop):
        return None
    turns = [_turn(instructions, loop) for loop in loops]
    turns = [one for one in turns if one.loads and not any(_left_over(one, other) for other in turns)]
    if not turns:
        return None
    steps = {one.step for one in turns}
    return LoopTurn(
        cycles=sum(one.cycles for one in turns),
        loads=sum(one.loads for one in turns),
        loaded=sum(one.loaded for one in turns),
        step=steps.pop() if len(steps) == 1 else None,
    )


def _turn(instructions: Sequence[_Instruction], loop: range) -> LoopTurn:
    loads = [_loaded(each) for at in loop if (each := instructions[at]).loads]
    return LoopTurn(_cycles(instructions, loop), len(loads), sum(loads), _step(instructions, loop))


def _left_over(one: LoopTurn, other: LoopTurn) -> bool:
    """Whether one does the work of a part of the other's turn."""
    more = other.step / one.step if one.step and other.step else UNROLLED
    return more > 1 and other.loaded == more * one.loaded > 0


def _decoded(code: bytes, architecture: str) -> list[_Instruction]:
    names, groups = load_opcodes(architecture), load_groups()
    words = [
        int.from_bytes(code[at : at + INSTRUCTION_BYTES], "little") for at in range(0, len(code), INSTRUCTION_BYTES)
    ]
    operations = [names.get(word & ((1 << OPCODE_BITS) - 1), "") for word in words]
    branches = [word for word, name in zip(words, operations, strict=True) if name == "BRA"]
    # A kernel ends in a branch to itself, from which it shows where the distance stands.
    short = bool(branches) and _distance(branches[-1], short=True) == -INSTRUCTION_BYTES
    found = []
    for at, (word, name) in enumerate(zip(words, operations, strict=True)):
        target = at + 1 + _distance(word, short=short) // INSTRUCTION_BYTES if name == "BRA" else None
        found.append(_Instruction(word, name, groups.get(name, ""), target))
    return found


def _distance(word: int, *, short: bool) -> int:
    """Bytes from the end of a branch to its target: 48 bits, to which sm_90 and newer add eight in another place."""
    high = word >> 34 & ((1 << 48) - 1)
    high -= (high >> 47) << 48
    return 4 * (high if short else high << 8 | (word >> 16 & 0xFF))


def _innermost(instructions: Sequence[_Instruction]) -> list[range]:
    """The loops that hold no other: from the target of a branch back to the branch."""
    back = [(each.target, at) for at, each in enumerate(instructions) if each.target is not None and each.target < at]
    loops = [range(first, last + 1) for first, last in back if first >= 0]
    return [one for one in loops if not any(one is not o and one[0] <= o[0] and o[-1] <= one[-1] for o in loops)]


def _path(instructions: Sequence[_Instruction], loop: range) -> Iterator[_Instruction]:
    """The instructions of one turn, in their order."""
    at = loop[0]
    while at in loop:
        each = instructions[at]
        yield each
        skips = each.target is not None and at < each.target
        if skips and (each.bits(12, 3) == ALWAYS or any(i.name == "CALL" for i in instructions[at : each.target])):
            at = each.target or at
        else:
            at += 1


def _cycles(instructions: Sequence[_Instruction], loop: range) -> float:
    """The cycles of a turn once the loop is under way."""
    now, free, ends = 0.0, [0.0] * BARRIERS, []
    for _ in range(TURNS):
        for each in _path(instructions, loop):
            now = max(now, *(free[bar] for bar in range(BARRIERS) if each.bits(116 + bar, 1)), 0.0)
            for bar, latency in ((each.bits(110, 3), LATENCY.get(each.group, OTHERS)), (each.bits(113, 3), READ)):
                if bar < BARRIERS:
                    free[bar] = max(free[bar], now + latency)
            now += max(1, each.bits(105, 4))
        ends.append(now)
    return (ends[-1] - ends[0]) / (TURNS - 1)


def _loaded(each: _Instruction) -> int:
    size = each.bits(73, 3)
    return BYTES[size] if each.loads and size < len(BYTES) else 0


def _step(instructions: Sequence[_Instruction], loop: range) -> int | None:
    """By how much the loop's counter moves, more than one where it was unrolled: the number that is added to what the
    comparison before the branch compares.
    """
    branch, body = instructions[loop[-1]], [instructions[at] for at in loop]
    compared = next((i for i in reversed(body) if i.name == "ISETP" and i.bits(81, 3) == branch.bits(12, 3)), None)
    if compared is None:
        return None
    registers = {compared.bits(24, 8)} | ({compared.bits(32, 8)} if compared.bits(9, 3) == 1 else set())
    for each in body:
        same = each.bits(16, 8) == each.bits(24, 8) and each.bits(16, 8) in registers
        if same and each.name in ADDS and each.bits(9, 3) == IMMEDIATE:
            number = each.bits(32, 32)
            return min(number, (1 << 32) - number) or None
    return None
