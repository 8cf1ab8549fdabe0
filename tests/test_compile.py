"""Compile evidence without a GPU, from the real tile compiler."""

from pathlib import Path

import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

from kdiag import workload as workloads  # noqa: E402 - after the skips
from kdiag.diagnose.compile import compile_workload  # noqa: E402
from kdiag.diagnose.observe import from_compilation  # noqa: E402
from kdiag.records import Compilation, CompileFailure  # noqa: E402
from kdiag.workload import Workload  # noqa: E402

EXAMPLES = Path(__file__).parents[1] / "examples"
TIMEOUT_S = 120.0


def example(name: str) -> Workload:
    described = workloads.read(EXAMPLES / name)
    assert isinstance(described, Workload)
    return described


def compiled(name: str, folder: Path, *edits: tuple[str, str], timeout_s: float = TIMEOUT_S) -> Compilation:
    described = example(name)
    text = described.kernel_file.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    path = folder / described.kernel_file.name
    path.write_text(text)
    (answer,) = compile_workload(described, [path], "sm_90", timeout_s=timeout_s)
    return answer


def value(compilation: Compilation, name: str) -> object:
    assert not isinstance(compilation, CompileFailure), compilation
    return from_compilation(compilation)[name].value


def test_a_float32_product_falls_back_to_fma_at_its_line(tmp_path: Path) -> None:
    answer = compiled("matmul_fp32", tmp_path)
    assert not isinstance(answer, CompileFailure)
    evidence = from_compilation(answer)["compile.mma_off_tensor_cores"]
    lines = (tmp_path / "matmul.py").read_text().splitlines()
    assert evidence.value == 1
    assert evidence.where is not None
    assert "ct.mma(" in lines[evidence.where.line - 1]
    assert value(answer, "compile.tma_loads") == 2


def test_the_tile_that_spills_and_the_hint_that_cures_it(tmp_path: Path) -> None:
    wide = ("TILE_N = 128", "TILE_N = 256")
    spilling = compiled("matmul_bf16", tmp_path, wide)
    cured = compiled("matmul_bf16", tmp_path, wide, ("@ct.kernel", "@ct.kernel(num_worker_warps=8)"))
    assert value(compiled("matmul_bf16", tmp_path), "compile.stack_bytes") == 0
    assert value(spilling, "compile.stack_bytes") == 1808
    assert value(cured, "compile.stack_bytes") == 0


def test_comments_and_line_numbers_do_not_change_the_code_hash(tmp_path: Path) -> None:
    plain = compiled("softmax", tmp_path)
    moved = compiled("softmax", tmp_path, ("import torch", "import torch\n\n# a comment\n"))
    assert not isinstance(plain, CompileFailure)
    assert not isinstance(moved, CompileFailure)
    assert [item.code_hash for item in plain] == [item.code_hash for item in moved]
    assert [item.launch.grid for item in plain] == [(32768, 1, 1), (65536, 1, 1)]


def test_a_rejected_tma_load_gives_the_compilers_reason(tmp_path: Path) -> None:
    answer = compiled(
        "softmax",
        tmp_path,
        (
            'ct.gather(x, (row, columns), check_bounds=True, padding_value=-float("inf"))',
            "ct.reshape(ct.load(x, (row, 0), (1, TILE), padding_mode=ct.PaddingMode.NEG_INF), (TILE,))",
        ),
    )
    assert not isinstance(answer, CompileFailure)
    assert "TMA only supports zero padding" in from_compilation(answer)["compile.tma_loads_rejected"].text


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (("ct.exp(", "ct.nonsense("), "error"),
        (("import torch", "import torch\nraise SystemError('no')"), "error"),
        (("import torch", "import os, torch\nos.kill(os.getpid(), 11)"), "crash"),
        (("import torch", "import time, torch\ntime.sleep(60)"), "timeout"),
    ],
)
def test_a_variant_that_does_not_compile_is_a_record(
    tmp_path: Path, edit: tuple[str, str], kind: str
) -> None:
    answer = compiled("softmax", tmp_path, edit, timeout_s=15 if kind == "timeout" else TIMEOUT_S)
    assert isinstance(answer, CompileFailure)
    assert answer.kind == kind
    assert answer.message


def test_front_end_and_compiler_name_the_place_of_an_error(tmp_path: Path) -> None:
    wrong_rank = compiled("softmax", tmp_path, ("(row, columns), check", "(row,), check"))
    assert isinstance(wrong_rank, CompileFailure)
    assert (wrong_rank.kind, wrong_rank.kernel) == ("error", "softmax_kernel")
    assert "(softmax.py:11)" in wrong_rank.message


def test_hints_make_a_different_kernel_and_the_same_hints_the_same(tmp_path: Path) -> None:
    launch = "    ct.launch(torch.cuda.current_stream(), (rows, 1, 1), softmax_kernel, (x, y, tile))\n"
    again = launch + launch.replace("softmax_kernel,", "softmax_kernel.replace_hints(occupancy=8),")
    answer = compiled("softmax", tmp_path, (launch, launch + again))
    assert not isinstance(answer, CompileFailure)
    assert len(answer) == 4
    assert answer[0].code_hash != answer[1].code_hash


def test_without_the_toolchain_the_evidence_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kdiag.diagnose.compile.NEEDED", {"no_such.module": "cuda-tile", "sys": "torch"})
    answer = compiled("softmax", tmp_path)
    reason = 'cuda-tile is not installed; run pip install "kdiag[gpu]".'
    assert answer == CompileFailure("unavailable", reason)
