"""`kdiag apply`: diffs that git takes, variants by name and by setting, writing with an undo, and every refusal."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

from bundled import EXAMPLES
from command_lines import as_json, refusal

pytest.importorskip("libcst")

from kdiag.cli import run


@pytest.fixture
def softmax(tmp_path, monkeypatch):
    """The softmax kernel alone, without a workload, in the current folder."""
    shutil.copy(EXAMPLES / "softmax" / "softmax.py", tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "softmax.py"


def test_what_is_printed_is_a_patch(softmax, capsys):
    before = softmax.read_bytes()
    assert run(["apply", "softmax.py", "h"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("H all")
    assert "changes rounding" in printed.out
    assert "begins at softmax.py:14" in printed.out
    told = " ".join(printed.out.split())
    assert re.search(r"expected without a profile: 1\.\d\dx, by kernel and cause from \S+x to \S+x; \d+% sure", told)
    assert "kdiag plan softmax.py compares it with other edits" in told
    assert "H200, measured 2026-11" in told  # from what
    assert "other variants: exp2" in printed.err
    assert softmax.read_bytes() == before
    subprocess.run(["patch", "-p1"], input=printed.out, text=True, check=True, capture_output=True)
    assert "exp2" in softmax.read_text()


def test_a_variant_by_name(softmax, capsys):
    found = as_json(capsys, "apply", str(softmax), "H", "--variant", "exp2")
    assert (found["schema"], found["optimization"], found["variant"]) == ("kdiag.apply/1", "H", "exp2")
    assert (found["safety"], found["applicable"], found["written"]) == ("changes-rounding", True, False)
    assert found["diff"].startswith("--- a/softmax.py")
    assert found["gates"] == []  # without a workload nobody was asked
    assert {one["variant"] for one in found["variants"]} > {"all", "exp2"}


@pytest.mark.parametrize(
    ("variant", "settings"), [("occupancy=2", {"occupancy": 2}), ("num_worker_warps=8", {"num_worker_warps": 8})]
)
def test_a_variant_by_setting(softmax, variant, settings, capsys):
    assert as_json(capsys, "apply", str(softmax), "hints", "--variant", variant)["settings"] == settings


def test_a_setting_that_is_not_offered_is_tried(capsys, tmp_path):
    kernel = tmp_path / "matmul.py"
    shutil.copy(EXAMPLES / "matmul_bf16" / "matmul.py", kernel)
    assert "+TILE_K = 16" in as_json(capsys, "apply", str(kernel), "G", "--variant", "tile_k=16")["diff"]


def test_writing_and_undoing(softmax, capsys):
    before = softmax.read_bytes()
    assert run(["apply", "softmax.py", "H", "--write"]) == 0
    undo = capsys.readouterr().err.split("undo: ")[1].strip()
    assert b"exp2" in softmax.read_bytes()
    subprocess.run(shlex.split(undo), check=True)
    assert softmax.read_bytes() == before


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (0o644, "is as it was, for /proc cannot be written"),
        (0o444, "is read-only and stays as it is; make it writable"),
    ],
)
def test_what_cannot_be_written_is_as_it_was(softmax, capsys, monkeypatch, mode, sentence):
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/kdiag")
    softmax.chmod(mode)
    monkeypatch.setattr(os, "access", lambda path, _: path != softmax or bool(mode & 0o200))  # root may write anything
    before = softmax.read_bytes(), softmax.stat().st_mode
    refusal(capsys, ["apply", "softmax.py", "H", "--write"], 1, f"softmax.py {sentence}")
    assert (softmax.read_bytes(), softmax.stat().st_mode) == before


def test_applying_twice_says_why_not(softmax, capsys):
    assert as_json(capsys, "apply", "softmax.py", "H", "--variant", "exp2", "--write")["written"]
    after = softmax.read_bytes()
    assert run(["apply", "softmax.py", "H", "--variant", "exp2", "--write"]) == 1
    assert "does not apply to softmax_kernel: " in capsys.readouterr().err
    assert softmax.read_bytes() == after


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["D"], 1, "the kernel has no ct.mma"),
        (["L"], 1, "kdiag plan KERNEL.py --brief PLAN.md writes it"),
        (["nonsense"], 2, "There is no edit 'nonsense'; choose one of A, "),
        (["H", "--variant", "nonsense"], 2, "H has no variant 'nonsense'; there are all, exp2"),
        (["G", "--variant", "nonsense"], 2, "none for this kernel"),
        (["H", "--variant", "tile=4"], 1, "there is no fast-math variant tile=4"),
        (["H", "--kernel", "other"], 2, "softmax_kernel"),
        (["H", "--target", "sm_1"], 2, "sm_1"),
    ],
)
def test_what_cannot_be_is_one_sentence(softmax, arguments, code, sentence, capsys):
    before = softmax.read_bytes()
    refusal(capsys, ["apply", "softmax.py", *arguments, "--write"], code, sentence)
    assert softmax.read_bytes() == before


def test_a_range_that_says_little_comes_with_what_says_more(tmp_path, monkeypatch, capsys):
    shutil.copy(EXAMPLES / "matmul_bf16" / "matmul.py", tmp_path / "a b.py")
    monkeypatch.chdir(tmp_path)
    assert run(["apply", "a b.py", "G"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "kdiag plan 'a b.py' --report REPORT says more" in told
    assert "no cause is known" in told


@pytest.mark.parametrize("text", ["", "x = 1\n", "def broken(:\n", "\x00"])
def test_a_file_without_a_kernel(tmp_path, text, capsys):
    path = tmp_path / "kernel.py"
    path.write_text(text)
    assert run(["apply", str(path), "H"]) in {1, 2}
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_byte_order_mark_is_named(softmax, capsys):
    softmax.write_bytes(b"\xef\xbb\xbf" + softmax.read_bytes())
    refusal(capsys, ["apply", "softmax.py", "H"], 1, "byte order mark; save it as UTF-8 without one")


def test_the_list(softmax, capsys):
    edits = as_json(capsys, "apply", "softmax.py", "--list")["edits"]
    variants = {edit["optimization"]: edit["variants"] for edit in edits}
    assert {"A", "D", "H", "hints"} <= set(variants)
    assert [one["why_not"] for one in variants["D"]] == ["the kernel has no ct.mma"]
    assert run(["apply", "softmax.py"]) == 0
    text = capsys.readouterr().out
    assert "Edits for softmax_kernel on sm_90" in text
    assert "approx-division" in text


@pytest.mark.compiler
def test_with_a_workload_the_compiler_is_asked(capsys):
    found = as_json(capsys, "apply", str(EXAMPLES / "softmax" / "softmax.py"), "H")
    gates = {gate["gate"]: gate["outcome"] for gate in found["gates"]}
    assert gates == {"compile": "passed", "no-op": "passed", "effect": "passed"}
    assert "not compiled" not in found["explanation"]  # what is expected knows what the gates have seen
