"""The cache of compilations: what is kept, what makes a new entry, and that damage costs time only."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundled import EXAMPLES
from kdiag.diagnose.compiler import cache as compile_cache
from kdiag.diagnose.compiler.cache import cache_folder, cache_key, load, store
from kdiag.records import CompileEvidence, Launch, Place, Remark

EVIDENCE = CompileEvidence(
    kernel="k",
    target="sm_90",
    launch=Launch("k", (), ()),
    registers=255,
    stack_bytes=None,
    shared_bytes=1024,
    code_bytes=4096,
    code_hash="hash",
    remarks=(Remark("RemarkMemoryTmaLoadFailed", False, Place("k.py", 9, 4), "k", text="only zero padding"),),
    seconds=0.25,
    threads=128,
    occupancy_pct=37.5,
    blocks_per_sm=6,
    limited_by="registers",
    instructions={"fp32": 7, "local_load": 2},
)


def program(path, content="compiler"):
    path.write_text(content)
    path.chmod(0o755)
    return path


def test_what_is_stored_comes_back(tmp_path):
    folder = tmp_path / "new" / "folder"
    assert load(folder, "key") is None
    store(folder, "key", EVIDENCE)
    assert load(folder, "key") == EVIDENCE
    assert [path.name for path in folder.iterdir()] == ["key.json"]


def test_everything_that_decides_the_answer_is_in_the_key(tmp_path):
    compiler = program(tmp_path / "tileiras")
    keys = [
        cache_key(b"code", "sm_90", 3, compiler),
        cache_key(b"Code", "sm_90", 3, compiler),
        cache_key(b"code", "sm_100", 3, compiler),
        cache_key(b"code", "sm_90", 2, compiler),
    ]
    assert cache_key(b"code", "sm_90", 3, compiler) == keys[0]
    assembler = program(tmp_path / "ptxas")
    keys.append(cache_key(b"code", "sm_90", 3, compiler))
    program(assembler, "another version")
    keys.append(cache_key(b"code", "sm_90", 3, compiler))
    program(compiler, "a newer compiler")
    keys.append(cache_key(b"code", "sm_90", 3, compiler))
    assert len(set(keys)) == len(keys)


def test_the_key_depends_on_the_form_of_the_evidence(tmp_path, monkeypatch):
    compiler = program(tmp_path / "tileiras")
    before = cache_key(b"", "sm_90", 3, compiler)
    monkeypatch.setattr(compile_cache, "FORM", compile_cache.FORM + 1)
    assert cache_key(b"", "sm_90", 3, compiler) != before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 600), wrong=st.binary(max_size=8))
def test_a_damaged_entry_is_not_there_and_is_written_anew(tmp_path, cut, wrong):
    store(tmp_path, "key", EVIDENCE)
    path = tmp_path / "key.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + wrong)
    assert load(tmp_path, "key") in (None, EVIDENCE)  # white space at the end is no damage
    store(tmp_path, "key", EVIDENCE)
    assert load(tmp_path, "key") == EVIDENCE


@pytest.mark.parametrize("content", ["[]", "null", '{"kernel": 1}', "[" * 100_000])
def test_json_of_another_form_is_not_there(tmp_path, content):
    (tmp_path / "key.json").write_text(content)
    assert load(tmp_path, "key") is None


def test_the_folder_is_the_users_and_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KDIAG_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "kdiag" / "compilations"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")  # to be ignored, says the XDG specification
    assert cache_folder() == tmp_path / ".cache" / "kdiag" / "compilations"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "kdiag" / "compilations"
    monkeypatch.setenv("KDIAG_CACHE_DIR", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own" / "compilations"


def test_a_folder_that_cannot_be_written_or_is_none_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "below", None):
        store(folder, "key", EVIDENCE)
        assert load(folder, "key") is None


def test_the_cache_is_bounded_and_keeps_what_was_used_last(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "MAX_ENTRIES", 10)
    for number in range(10):
        store(tmp_path, f"old{number}", EVIDENCE)
        os.utime(tmp_path / f"old{number}.json", (number, number))
    assert load(tmp_path, "old0") is not None
    store(tmp_path, "new", EVIDENCE)
    kept = {path.stem for path in tmp_path.iterdir()}
    assert len(kept) == 9
    assert {"new", "old0"} <= kept
    assert "old1" not in kept


def test_many_writers_of_one_entry_leave_one_whole_entry(tmp_path):
    versions = [replace(EVIDENCE, registers=number) for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda evidence: store(tmp_path, "key", evidence), versions))
    assert load(tmp_path, "key") in versions
    assert [path.name for path in tmp_path.iterdir()] == ["key.json"]


@pytest.mark.compiler
def test_the_bytecode_holds_the_hints_but_for_the_optimization_level():
    from io import BytesIO

    from cuda.tile.compilation import export_kernel

    from kdiag.diagnose.capture.workload import capture
    from kdiag.workload import read

    workload = read(EXAMPLES / "softmax")
    captured = capture(workload, workload.kernel_file, "sm_90")[0]

    def bytecode(**hints):
        stream, kernel = BytesIO(), captured.kernel.replace_hints(**hints)
        export_kernel(kernel, [captured.signature], stream, gpu_code="sm_90", output_format="tileir_bytecode")
        return stream.getvalue()

    plain = bytecode()
    assert bytecode() == plain
    assert bytecode(opt_level=2) == plain  # it is in the key by itself
    hinted = [bytecode(num_ctas=2), bytecode(occupancy=4), bytecode(num_worker_warps=8)]
    assert len({plain, *hinted}) == 4
