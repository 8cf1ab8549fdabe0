"""TileGym's layout: an operator's kernel file and tests are found, or the sentence says what to give instead."""

import sys
from pathlib import Path

import pytest

from bundled import TILEGYM, needs_tilegym
from command_lines import written
from kdiag.errors import UsageError
from kdiag.executors.tilegym import OPS, find_operator, operator_of, workload_of

KERNEL = "@register_impl('{name}', backend='cutile')\ndef wrapper(): ...\n"
FILES = {
    "src/tilegym/ops/cutile/__init__.py": "",
    "src/tilegym/ops/cutile/rms_norm.py": KERNEL.format(name="rms_norm"),
    "src/tilegym/ops/cutile/attention.py": KERNEL.format(name="fmha"),
    "src/tilegym/ops/cutile/softmax.py": KERNEL.format(name="softmax"),
    "src/tilegym/ops/cutile/align.py": KERNEL.format(name="align_block"),
    "src/tilegym/ops/cutile/activation/relu.py": KERNEL.format(name="relu"),
    "src/tilegym/suites/liger/cutile/relu.py": KERNEL.format(name="liger.relu"),
    "src/tilegym/suites/liger/cutile/twice.py": "",
    "src/tilegym/suites/flashinfer/cutile/twice.py": "",
    "tests/ops/test_rms_norm.py": "class Test:\n    def test_op(self): ...\n    def test_perf(self): ...\n",
    "tests/ops/test_attention.py": "def test_perf_llm(): ...\n",
    "tests/ops/test_softmax.py": "def test_op(): ...\n",
    "src/tilegym/ops/cutile/gelu.py": "",
    "tests/ops/activation/test_gelu.py": "",
    "tests/ops/experimental/test_gelu.py": "",
    "tests/ops/activation/test_relu.py": "def test_perf(): ...\n",
    "tests/ops/experimental/test_relu.py": "def test_perf(): ...\n",
    "tests/suites/liger/test_relu.py": "def test_perf(): ...\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        written(tmp_path / name, text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "kernel", "tests"),
    [
        ("rms_norm", "src/tilegym/ops/cutile/rms_norm.py", "tests/ops/test_rms_norm.py"),
        ("fmha", "src/tilegym/ops/cutile/attention.py", "tests/ops/test_attention.py"),
        ("relu", "src/tilegym/ops/cutile/activation/relu.py", "tests/ops/activation/test_relu.py"),
        ("liger/relu", "src/tilegym/suites/liger/cutile/relu.py", "tests/suites/liger/test_relu.py"),
    ],
)
def test_an_operator_is_found_by_its_file_or_its_registered_name(checkout, name, kernel, tests):
    operator = find_operator(checkout / "tests" / "ops", name)
    assert (operator.name, operator.test_files) == (Path(kernel), (Path(tests),))
    assert operator_of(checkout / kernel) == operator


def test_the_commands_are_those_of_tilegyms_own_instructions(checkout):
    commands = workload_of(find_operator(checkout, "rms_norm"), None, None)
    begin = (sys.executable, "-m", "pytest", "tests/ops/test_rms_norm.py", "-k")
    assert commands.test == (*begin, "test_ and cutile and not test_perf", "-v")
    assert commands.bench == (*begin, "test_perf and cutile", "--print-record", "-v")
    mine = workload_of(find_operator(checkout, "rms_norm"), None, "python mine.py")
    assert (mine.test, mine.bench) == (commands.test, ("bash", "-c", "python mine.py"))


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("softmax", "tests/ops/test_softmax.py has no test_perf.*give --bench"),
        ("align_block", "align.py has no test_align.py in tests; give --test and --bench"),
        ("gelu", r"has several test files \(.*activation.*experimental.*\); give --test and --bench"),
        ("twice", "twice is several operators: .*flashinfer/cutile/twice.py, .*liger/cutile/twice.py"),
        ("rmsnorm", "no cuTile operator rmsnorm; did you mean rms_norm"),
    ],
)
def test_what_is_not_there_is_said_with_the_choices(checkout, name, sentence):
    with pytest.raises(UsageError, match=sentence):
        workload_of(find_operator(checkout, name), None, None)


def test_outside_of_a_checkout(tmp_path):
    assert operator_of(tmp_path / "kernel.py") is None
    with pytest.raises(UsageError, match="is in no TileGym checkout"):
        find_operator(tmp_path, "rms_norm")


# What the public checkout has no test file for, and what nothing measures there.
UNTESTED = {"attention_sink_decode", "moe_align_block", "utils"}
UNMEASURED = {"gelu", "relu", "softmax", "mhc", "nvfp4_quantize", "sparse_mla", "swa_attention"}
UNMEASURED |= {"fused_linear_cross_entropy"}


@needs_tilegym
def test_every_operator_of_the_checkout_has_its_tests():
    files = [file for file in sorted((TILEGYM / OPS).rglob("*.py")) if file.name != "__init__.py"]
    found = [find_operator(TILEGYM, file.relative_to(TILEGYM / OPS).as_posix()) for file in files]
    assert [operator.kernel_file for operator in found] == files
    assert {o.kernel_file.stem for o in found if len(o.test_files) != 1} == UNTESTED
    assert {o.kernel_file.stem for o in found if not o.measured} == UNTESTED | UNMEASURED
