"""Compile evidence without a GPU, from the real tile compiler."""

import pytest

from bundled import EXAMPLES
from kdiag import workload as workloads
from kdiag.diagnose.compiler.compile import compile_workload
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.records import CompileFailure

pytestmark = pytest.mark.compiler
TIMEOUT_S = 120.0


def example(name):
    return workloads.read(EXAMPLES / name)


def variants(name, folder, *edited, timeout_s=TIMEOUT_S):
    """Compile one variant of the example for each tuple of replacements in its text."""
    described = example(name)
    paths = []
    for number, edits in enumerate(edited):
        text = described.kernel_file.read_text()
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        paths.append(folder / str(number) / described.kernel_file.name)
        paths[-1].parent.mkdir()
        paths[-1].write_text(text)
    return compile_workload(described, paths, "sm_90", timeout_s=timeout_s)


def compiled(name, folder, *edits, timeout_s=TIMEOUT_S):
    (answer,) = variants(name, folder, edits, timeout_s=timeout_s)
    return answer


def again(folder):
    """Compile once more what `compiled("vector_add", folder)` did."""
    return compile_workload(example("vector_add"), [folder / "0" / "vector_add.py"], "sm_90", timeout_s=TIMEOUT_S)


def value(compilation, name):
    assert not isinstance(compilation, CompileFailure), compilation
    return from_compilation(compilation)[name].value


def test_the_tile_that_spills_and_the_hint_that_cures_it(tmp_path):
    wide, hint = ("TILE_N = 128", "TILE_N = 256"), ("@ct.kernel", "@ct.kernel(num_worker_warps=8)")
    plain, spilling, cured = variants("matmul_bf16", tmp_path, (), (wide,), (wide, hint))
    assert (value(plain, "compile.stack_bytes"), value(plain, "compile.tma_loads")) == (0, 2)
    assert value(spilling, "compile.stack_bytes") == 1808
    assert value(cured, "compile.stack_bytes") == 0


def test_comments_and_line_numbers_do_not_change_the_code_hash(tmp_path):
    comment = ("import torch", "import torch\n\n# a comment\n")
    plain, moved = variants("softmax", tmp_path, (), (comment,))
    assert [item.code_hash for item in plain] == [item.code_hash for item in moved]
    assert [item.launch.grid for item in plain] == [(32768, 1, 1), (65536, 1, 1)]


def test_variants_that_do_not_compile_are_records_and_harm_no_other(tmp_path):
    unknown = ("ct.exp(", "ct.nonsense(")
    failing = ("import torch", "import torch\nraise SystemError('no')")
    dying = ("import torch", "import os, torch\nos.kill(os.getpid(), 11)")
    *failed, good = variants("softmax", tmp_path, (unknown,), (failing,), (dying,), ())
    assert [answer.kind for answer in failed] == ["error", "error", "crash"]
    assert all(answer.message for answer in failed)
    assert not isinstance(good, CompileFailure)


def test_a_variant_that_hangs_is_ended(tmp_path):
    sleeping = ("import torch", "import time, torch\ntime.sleep(60)")
    assert compiled("softmax", tmp_path, sleeping, timeout_s=3).kind == "timeout"


def test_front_end_and_compiler_name_the_place_of_an_error(tmp_path):
    wrong_rank = compiled("softmax", tmp_path, ("(row, columns), check", "(row,), check"))
    assert (wrong_rank.kind, wrong_rank.kernel) == ("error", "softmax_kernel")
    assert "(softmax.py:11)" in wrong_rank.message


def test_hints_make_a_different_kernel_and_the_same_hints_the_same(tmp_path):
    launch = "    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), softmax_kernel, (x, y, tile))\n"
    again = launch + launch.replace("softmax_kernel,", "softmax_kernel.replace_hints(occupancy=8),")
    answer = compiled("softmax", tmp_path, (launch, launch + again))
    assert [each.launch.configuration for each in answer] == [0, 0, 0, 1, 1, 1]
    plain, same, hinted, *_ = answer
    assert plain.code_hash == same.code_hash != hinted.code_hash


def test_what_was_compiled_is_not_compiled_again_until_its_entry_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setenv("KDIAG_CACHE_DIR", str(tmp_path / "cache"))
    first = compiled("vector_add", tmp_path)
    (entry,) = (tmp_path / "cache" / "compilations").iterdir()
    whole = entry.read_text()
    entry.write_text(whole.replace('"registers": ', '"registers": 9'))
    (known,) = again(tmp_path)
    assert value(known, "compile.registers") == int(f"9{value(first, 'compile.registers')}")
    entry.write_text(whole[:100])
    (anew,) = again(tmp_path)
    assert value(anew, "compile.registers") == value(first, "compile.registers")
    assert entry.read_text().startswith(whole[:100])


def test_the_same_source_in_another_folder_is_known(tmp_path, monkeypatch):
    monkeypatch.setenv("KDIAG_CACHE_DIR", str(tmp_path / "cache"))
    first, second = variants("vector_add", tmp_path, (), ())
    assert first[0].code_hash == second[0].code_hash
    assert len(list((tmp_path / "cache" / "compilations").iterdir())) == 1
    (version,) = (tmp_path / "cache" / "bytecode-versions").iterdir()
    version.write_text('{"text": "1.0"}')
    (told,) = again(tmp_path)
    assert "Unsupported bytecode version '1.0'" in told.message


def test_a_compiled_launch_has_its_threads_occupancy_and_instructions(tmp_path):
    (launch,) = compiled("vector_add", tmp_path)
    assert (launch.threads, launch.occupancy_pct, launch.limited_by) == (128, 100.0, "warps")
    assert launch.instructions["fp32"] > 0
    assert 16 * sum(launch.instructions.values()) <= launch.code_bytes


def test_the_resources_are_those_that_the_profiler_saw_on_the_card(tmp_path):
    """The report beside the example was recorded on an H200; another compiler may use other registers."""
    ncu_report = pytest.importorskip("ncu_report")
    answer = compiled("softmax", tmp_path)
    seen = ncu_report.load_report(str(EXAMPLES / "softmax" / "softmax.ncu-repz"))[0][0]
    registers, threads, shared, occupancy = (
        seen.metric_by_name(metric).value()
        for metric in (
            "launch__registers_per_thread",
            "launch__block_size",
            "launch__shared_mem_per_block_static",
            "sm__maximum_warps_per_active_cycle_pct",
        )
    )
    launch = next((each for each in answer if each.registers == registers), None)
    if launch is None:
        pytest.skip("this compiler uses other registers than the one of the report")
    assert (launch.threads, launch.shared_bytes, launch.occupancy_pct) == (threads, shared, occupancy)


def test_without_the_toolchain_the_evidence_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setattr("kdiag.diagnose.compiler.compile.NEEDED", {"no_such.module": "cuda-tile", "sys": "torch"})
    answer = compiled("softmax", tmp_path)
    reason = 'cuda-tile is not installed; run pip install "kdiag[gpu]".'
    assert answer == CompileFailure("unavailable", reason)
