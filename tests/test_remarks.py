"""The compiler's remarks: what is read from real documents, and that nothing makes the reader fail."""

from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.remarks import parse

REJECTED = """--- !Failure
Pass:            Memory
Name:            RemarkMemoryTmaLoadFailed
DebugLoc:        { File: '/a/it''s.py', Line: 18, Column: 20 }
Function:        softmax
Args:
  - RemarkId:    2
  - Remark:      Failed to select TMA load instruction
  - Reason:      'loc("/a/s.py":18:20): TMA only supports zero padding'
  - Reason:      'loc("/a/s.py":18:20): TMA only supports zero padding'
...
"""
SELECTED = """--- !Passed
Pass:            Memory
Name:            RemarkMemoryLoadInstructionSelected
DebugLoc:        { File: k.py, Line: 22, Column: 13 }
Function:        mm
Args:
  - Remark:      Load instruction selected
  - Instruction: TMA Load instruction
  - Shape:       '[32, 64]'
...
"""


def test_a_rejected_load_gives_the_reason_once_without_its_location() -> None:
    (remark,) = parse(REJECTED + REJECTED)
    assert (remark.where.file, remark.where.line, remark.where.column) == ("/a/it's.py", 18, 20)
    assert (remark.passed, remark.text) == (False, "TMA only supports zero padding")


def test_a_selected_instruction_keeps_its_shape() -> None:
    (remark,) = parse(SELECTED)
    assert (remark.passed, remark.instruction, remark.shape) == (True, "TMA Load instruction", "[32, 64]")


@given(st.integers(0, len(REJECTED + SELECTED)))
def test_a_file_cut_anywhere_never_invents_a_remark(cut: int) -> None:
    whole = parse(REJECTED + SELECTED)
    assert {remark.where for remark in parse((REJECTED + SELECTED)[:cut])} <= {
        remark.where for remark in whole
    }


@given(st.text())
def test_any_text_is_read_without_failure(text: str) -> None:
    parse("--- !Passed\n" + text)
