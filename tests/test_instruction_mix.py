"""The instruction mix: kdiag's own opcode table, what it does with what it lacks, and NVIDIA's disassembler beside it."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundled import EXAMPLES
from command_lines import program
from kdiag.diagnose.compiler import instruction_mix as module
from kdiag.diagnose.compiler import sass_disassembler
from kdiag.diagnose.compiler.cubin import CubinError, architecture, read_cubin
from kdiag.diagnose.compiler.instruction_mix import instruction_mix, mnemonics
from kdiag.diagnose.compiler.sass_disassembler import names_of
from kdiag.diagnose.compiler.tileiras import find_program
from kdiag.rules.load_sass import load_groups, load_opcodes

ARCHITECTURES = [
    f"sm_{number}" for number in (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
]  # what tileiras 13.4 compiles for
FFMA, LDL, STL, MUFU, NOP, HGMMA = 0x223, 0x983, 0x387, 0x308, 0x918, 0xDF0
NOWHERE = 0x000


def word(opcode):
    """An instruction with this opcode; the bits above it hold a predicate and operands."""
    return (opcode | 0x7_0000_7000).to_bytes(16, "little")


def code(*opcodes):
    return b"".join(map(word, opcodes))


@pytest.fixture(autouse=True)
def _no_disassembler(monkeypatch, request):
    if "compiler" not in request.keywords:
        monkeypatch.setattr(sass_disassembler, "find_program", lambda _: None)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_operation_of_every_target_is_in_a_group(architecture):
    table, groups = load_opcodes(architecture), load_groups()
    assert len(table) > 400
    assert {name for name in table.values() if name not in groups} == set()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_operations_that_say_most_are_known_on_every_target(architecture):
    names = set(load_opcodes(architecture).values())
    assert {"FFMA", "DFMA", "MUFU", "HMMA", "LDG", "STG", "LDL", "STL", "LDS", "STS", "BAR", "EXIT"} <= names
    number = int(architecture.removeprefix("sm_"))
    assert ("UTMALDG" in names) == (number >= 90)
    assert ("HGMMA" in names) == (number == 90)
    assert ("UTCHMMA" in names) == (100 <= number < 120)


def test_an_architecture_that_is_not_in_the_table_has_no_names():
    assert load_opcodes("sm_75") == {}
    assert mnemonics(code(FFMA), "sm_75") == {"unknown": 1}


def test_instructions_are_counted_by_name_whatever_else_they_hold():
    found = mnemonics(code(FFMA, 0x423, FFMA, LDL, STL, MUFU, HGMMA, NOP), "sm_90")
    assert found == {"FFMA": 3, "LDL": 1, "STL": 1, "MUFU": 1, "HGMMA": 1, "NOP": 1}


def test_an_opcode_that_nobody_knows_is_counted_as_unknown():
    assert mnemonics(code(FFMA, NOWHERE, NOWHERE), "sm_90") == {"FFMA": 1, "unknown": 2}


def test_what_the_table_lacks_is_asked_of_the_disassembler(monkeypatch):
    asked = []

    def answer(words, _architecture):
        asked.extend(words)
        return {word(NOWHERE): "LDG"}

    monkeypatch.setattr(module, "names_of", answer)
    assert mnemonics(code(FFMA, NOWHERE, NOWHERE), "sm_90") == {"FFMA": 1, "LDG": 2}
    assert asked == [word(NOWHERE)]


def test_the_disassembler_is_asked_again_without_what_it_calls_illegal(tmp_path, monkeypatch):
    refuses = "nvdisasm error   : Unrecognized operation at address 0x00000010"
    stand_in = program(
        tmp_path / "nvdisasm",
        f'echo "$@" >> {tmp_path}/asked\n'
        f'if [ $(wc -c < "$4") -gt 16 ]; then echo "{refuses}" >&2; exit 255; fi\n'
        "echo '        /*0000*/              @!P0 LDG.E R2, [R2] ;'",
    )
    monkeypatch.setattr(sass_disassembler, "find_program", lambda _: stand_in)
    assert names_of([word(1), word(2)], "sm_100") == {word(1): "LDG"}
    assert (tmp_path / "asked").read_text().startswith("--binary SM100a --no-dataflow ")


@given(st.sampled_from([*ARCHITECTURES, "sm_75"]), st.lists(st.integers(0, 0xFFF), max_size=40), st.binary(max_size=15))
def test_no_instruction_is_dropped(architecture, opcodes, rest):
    assert mnemonics(code(*opcodes) + rest, architecture).total() == len(opcodes)


def test_only_a_kernel_of_a_cubin_has_a_mix():
    with pytest.raises(CubinError):
        instruction_mix(b"no cubin", "kernel")


@pytest.fixture(scope="module")
def cubins():
    """The machine code of examples for four generations, with the symbol of each kernel."""
    from kdiag import isolate
    from kdiag import workload as workloads

    made = []
    matmuls = [("matmul_bf16", f"sm_{number}") for number in (80, 90, 100, 120)]
    for name, target in [*matmuls, ("rms_norm", "sm_90")]:
        asked = (workloads.read(EXAMPLES / name), target)
        answer = isolate.run(compiled_code, asked, timeout_s=120)
        assert isinstance(answer, list), answer
        made += answer
    return made


def compiled_code(asked):
    """The cubin and symbol of each launch of a workload. Runs in a child process."""
    from kdiag.diagnose.capture.workload import capture
    from kdiag.diagnose.compiler.compile import CompileRequest
    from kdiag.diagnose.compiler.job import _export
    from kdiag.diagnose.compiler.tileiras import assemble, find_tileiras

    described, target = asked
    request, compiler = CompileRequest(described, described.kernel_file, target), find_tileiras()
    return [
        (assemble(compiler, _export(each, compiler, request), target, 3).cubin, str(each.signature.symbol))
        for each in capture(described, described.kernel_file, target)
    ]


@pytest.mark.compiler
def test_of_what_is_compiled_nothing_is_unknown(cubins):
    for cubin, symbol in cubins:
        mix = instruction_mix(cubin, symbol)
        assert "unknown" not in mix
        assert "padding" not in mix
        assert sum(mix.values()) * 16 <= read_cubin(cubin)[symbol].code_bytes
        assert mix["control"] > 0
        assert ("tensor" in mix) == ("matmul" in symbol)
        assert ("tma_load" in mix) == ("matmul" in symbol and architecture(cubin) != "sm_80")
        assert "special_function" in mix or "matmul" in symbol


@pytest.mark.compiler
@pytest.mark.skipif(find_program("nvdisasm") is None, reason="nvdisasm is not installed")
def test_the_table_and_nvidias_disassembler_agree(cubins):
    groups = load_groups()
    for cubin, symbol in cubins:
        machine_code, target = read_cubin(cubin)[symbol].code, architecture(cubin)
        words = [machine_code[start : start + 16] for start in range(0, len(machine_code), 16)]
        theirs = names_of(words, target)
        ours = Counter({groups[name]: 0 for name in groups})
        for name, count in mnemonics(machine_code, target).items():
            ours[groups[name]] += count
        assert set(theirs) == set(words)
        assert +ours == Counter(groups[theirs[each]] for each in words)
