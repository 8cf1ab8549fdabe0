"""The compiler's remarks: what is read from real documents, and that nothing makes the reader fail."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.compiler.observe_remarks import COUNTS
from kdiag.diagnose.compiler.remarks import parse
from kdiag.diagnose.compiler.tileiras import find_program
from kdiag.records import Place, Remark

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


def test_a_rejected_load_gives_the_reason_once_without_its_location():
    (remark,) = parse(REJECTED + REJECTED)
    assert (remark.where.file, remark.where.line, remark.where.column) == ("/a/it's.py", 18, 20)
    assert (remark.passed, remark.text) == (False, "TMA only supports zero padding")


def test_a_selected_instruction_keeps_its_shape():
    (remark,) = parse(SELECTED)
    assert (remark.passed, remark.instruction, remark.shape) == (True, "TMA Load instruction", "[32, 64]")


@given(st.integers(0, len(REJECTED + SELECTED)))
def test_a_file_cut_anywhere_never_invents_a_remark(cut):
    whole = parse(REJECTED + SELECTED)
    assert {remark.where for remark in parse((REJECTED + SELECTED)[:cut])} <= {remark.where for remark in whole}


@given(st.text())
def test_any_text_is_read_without_failure(text):
    parse("--- !Passed\n" + text)


# Those that no observation counts, and why not.
UNCOUNTED = {
    "RemarkHintDefault": "a hint that was not given",
    "RemarkLoopUnrollDisabled": "what the source asks for",
    "RemarkMemorySmemAllocated": "its size is an observation",
    "RemarkMemorySmemBreakdown": "parts of that size",
    "RemarkPTXAS": "text for people",
    "RemarkSyncClean": "nothing is wrong",
    "RemarkSyncWarning": "nothing to act on",
}


@pytest.mark.compiler
@pytest.mark.skipif(find_program("tileiras") is None, reason="tileiras is not installed")
def test_every_kind_of_remark_in_the_compiler_is_counted_or_left_out_for_a_reason():
    program = find_program("tileiras")
    kinds = {found[1].decode() for found in re.finditer(rb"(Remark[A-Z]\w+)@", program.read_bytes())}
    assert "RemarkMemoryTmaLoadFailed" in kinds
    uncounted = {
        kind
        for kind in kinds
        for outcomes in [[Remark(kind, passed, Place("k.py", 1), "k", "TMA Load") for passed in (True, False)]]
        if not any(count.test(remark) for count in COUNTS for remark in outcomes)
    }
    assert uncounted == set(UNCOUNTED)
