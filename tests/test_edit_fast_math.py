"""What the examples of D and H cannot show: that values stay, that doubt is respected, and what the compiler makes of it."""

import ast
import math
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bundled import EXAMPLES
from edit_emulation import applied, edited, refused, run
from kdiag.executors.edits.base import Applied, Subject
from kdiag.executors.edits.examples.fast_math import elementwise, loop
from kdiag.executors.edits.fast_math import RECIPES, FastMath
from kdiag.executors.edits.tf32_guard import Tf32Guard
from kdiag.records import ArrayArgument, Launch, Variant

pytestmark = pytest.mark.usefixtures("emulating")
SAME = ("import", "import")


def _ignore_flags(function):
    return lambda *values, **flags: function(*values)


STAND_IN = SimpleNamespace(
    exp=math.exp,
    exp2=_ignore_flags(lambda x: 2.0**x),
    sqrt=_ignore_flags(math.sqrt),
    rsqrt=_ignore_flags(lambda x: 1 / math.sqrt(x)),
    truediv=_ignore_flags(lambda x, y: x / y),
    tanh=_ignore_flags(math.tanh),
    sum=lambda x: 3 * x,
    RoundingMode=SimpleNamespace(APPROX=None),
)

EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "n", "1", "2.5", "EPS"]),
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from(["/", "/", "*", "+", "-"]), inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["/", "/", "*", "+", "-"]), inner),
        st.builds("ct.{}({})".format, st.sampled_from(["exp", "sqrt", "tanh", "sum"]), inner),
        st.builds("ct.truediv({}, {})".format, inner, inner),
        st.builds("-{}".format, inner),
        st.builds("{}\n        ".format, st.sampled_from(["(\n        a  # first\n        / b)", "(a\n / b)"])),
    ),
    max_leaves=8,
)


def _result(source):
    value = next(
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "result"
    )
    names = {"ct": STAND_IN, "a": 1.25, "b": 0.75, "n": 3, "EPS": 1e-6}
    return float(eval(ast.unparse(value), names))


# Many expressions offer nothing to rewrite, by chance too many in a row for the health check.
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(EXPRESSIONS, st.sampled_from(list(RECIPES)))
def test_values_stay(expression, name):
    source = elementwise(expression.strip())
    outcome = FastMath().apply(Subject(source, "elementwise"), Variant("H", name))
    assume(isinstance(outcome, Applied))
    try:
        before = _result(source)
    except (ValueError, ZeroDivisionError, OverflowError):
        assume(False)
    assert math.isclose(_result(outcome.source), before, rel_tol=1e-9, abs_tol=1e-12)
    assert outcome.source.count("# first") == source.count("# first")
    above = source.partition("    result =")[0]
    assert outcome.source.startswith(above)
    assert outcome.where.line >= above.count("\n") + 1


@pytest.mark.parametrize(
    "doubt",
    [
        "total = unknown(y)",
        "total, weight = unknown(y), weight",
        "if k > 1:\n            total = ct.astype(total, ct.float64)",
    ],
)
def test_an_accumulator_that_a_loop_may_change_is_left_alone(doubt):
    source = loop("total = total / weight").replace("    total = total / w", f"        {doubt}\n    total = total / w")
    ast.parse(source)
    assert "cannot tell that `total / weight`" in refused(FastMath(), source, "average", "approx-division")


@pytest.mark.parametrize("doubt", ["total = ct.load(y, (row, k), (TM, TN))", "total += ct.load(y, (row, k), (TM, TN))"])
def test_an_accumulator_that_a_loop_loads_is_tested_by_its_dtype(doubt):
    source = loop("total = total / weight").replace("    total = total / w", f"        {doubt}\n    total = total / w")
    after = edited(FastMath(), source, "average", "approx-division")
    assert "if total.dtype == ct.float32 else total / weight" in after


def test_only_the_named_kernel_changes():
    first = elementwise("a / b")
    second = elementwise("ct.exp(a)").replace("def elementwise", "def other").partition("EPS = 1e-6")[2]
    after = edited(FastMath(), first + second, "elementwise", "all")
    assert after.endswith(second)


SILU = """import cuda.tile as ct


def _sigmoid(x):
    return 1 / (1 + ct.exp(-x))


@ct.kernel
def silu(x, y, scale: float, T: ct.Constant[int]):
    tile = ct.load(x, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO){cast}
    std = ct.sqrt(ct.max(tile * tile, keepdims=True))
    power = ct.exp(tile * scale - std)
    ct.store(y, (ct.bid(0),), ct.astype(_sigmoid(tile) / std + power, y.dtype))
"""


def _silu(source, x, scale=0.75):
    import torch

    y = torch.zeros_like(x)
    run(source, "silu", (-(-len(x) // 32), 1, 1), (x, y, scale, 32))
    return y


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "tanh"])
@pytest.mark.parametrize("length", [1, 31, 97])
def test_float32_results_stay_close(name, length):
    torch = pytest.importorskip("torch")
    source = SILU.format(cast=".astype(ct.float32)")
    after = edited(FastMath(), source, "silu", name)
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.linspace(-9, 11, length).to(dtype)
        torch.testing.assert_close(_silu(after, x), _silu(source, x), rtol=1e-5, atol=0)


@pytest.mark.parametrize("name", ["all", "exp2", "approx-division", "rsqrt"])
def test_a_tile_of_another_dtype_keeps_its_bits(name):
    torch = pytest.importorskip("torch")
    source = SILU.format(cast="")
    after = edited(FastMath(), source, "silu", name)
    x = torch.linspace(-9, 11, 97)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        assert torch.equal(_silu(after, x.to(dtype)), _silu(source, x.to(dtype)))
    torch.testing.assert_close(_silu(after, x), _silu(source, x), rtol=1e-5, atol=0)


def test_an_array_of_no_launch_in_float32_is_left_alone():
    source = SILU.format(cast="")
    for dtype, applies in (("bfloat16", False), ("float32", True)):
        launch = Launch("silu", (1, 1, 1), (ArrayArgument("x", dtype, (64,), (1,)),))
        outcome = FastMath().apply(Subject(source, "silu", launches=(launch,)), Variant("H", "all"))
        assert isinstance(outcome, Applied) is applies


@pytest.mark.parametrize(
    "body",
    [
        "ct.astype(ct.bitcast(ct.astype(a / b, quantized.float8_e4m3fn), ct.int32), ct.float32)",
        "ct.astype(ct.astype(a / b, torch.int8), ct.float32)",
        "ct.floor(a / b)",
        "ct.where((a / b) > 1.0, a, b)",
    ],
)
def test_a_division_that_decides_a_bucket_stays(body):
    for name in ("all", "approx-division", "reciprocal"):
        assert refused(FastMath(), elementwise(body), "elementwise", name)


def test_a_function_that_calls_a_copied_one_is_copied_with_it():
    source = SILU.format(cast=".astype(ct.float32)").replace("_sigmoid(tile) /", "outer(tile) /")
    source = source.replace("@ct.kernel", "def outer(x):\n    return _sigmoid(x) * 2.0\n\n\n@ct.kernel")
    source += (
        "\n\n@ct.kernel\ndef other(x, T: ct.Constant[int]):\n    ct.store(x, (0,), outer(ct.load(x, (0,), (T,))))\n"
    )
    outcome = applied(FastMath(), source, "silu", "exp2")
    assert "def outer_fast(x):\n    return _sigmoid_fast(x) * 2.0\n" in outcome.source
    assert "outer_fast(tile) / std" in outcome.source
    assert outcome.source.endswith(source.partition("def other")[2])
    assert not outcome.warnings


def _compiled(example, edit, variant, folder, exchange=SAME):
    """The evidence of an example's launches before and after an edit, compiled for sm_90."""
    from kdiag.diagnose.compiler.compile import compile_workload
    from kdiag.workload import read

    workload = read(EXAMPLES / example)
    before = workload.kernel_file.read_text().replace(*exchange)
    kernel = next(
        node.name for node in ast.walk(ast.parse(before)) if isinstance(node, ast.FunctionDef) and node.decorator_list
    )
    sources = [folder / "before.py", folder / "after.py"]
    for path, text in zip(sources, (before, edited(edit, before, kernel, variant)), strict=True):
        path.write_text(text)
    compiled = compile_workload(workload, sources, "sm_90", timeout_s=120)
    assert all(isinstance(one, tuple) for one in compiled), compiled
    return tuple(zip(*compiled, strict=True))


def _off_tensor_cores(evidence):
    return sum(not remark.passed for remark in evidence.remarks if remark.name == "RemarkTensorCoreMMA")


@pytest.mark.compiler
def test_tf32_puts_the_float32_product_on_tensor_cores(tmp_path):
    for before, after in _compiled("matmul_fp32", Tf32Guard(), "tf32", tmp_path):
        assert _off_tensor_cores(before) > 0
        assert _off_tensor_cores(after) == 0
        assert after.code_bytes < before.code_bytes / 2


@pytest.mark.compiler
def test_the_guard_changes_nothing_for_bfloat16(tmp_path):
    for before, after in _compiled("matmul_bf16", Tf32Guard(), "tf32", tmp_path):
        assert after.code_hash == before.code_hash


@pytest.mark.compiler
@pytest.mark.parametrize(
    ("example", "name", "exchange"),
    [
        ("softmax", "all", SAME),
        ("softmax", "exp2", SAME),
        ("softmax", "approx-division", SAME),
        ("softmax", "reciprocal", SAME),
        ("softmax", "tanh", ("ct.exp(", "ct.tanh(")),
        ("rms_norm", "all", SAME),
        ("rms_norm", "rsqrt", SAME),
        ("rms_norm", "approx-division", SAME),
    ],
)
def test_fast_math_compiles_to_less_code(example, name, exchange, tmp_path):
    for before, after in _compiled(example, FastMath(), name, tmp_path, exchange):
        assert after.code_bytes < before.code_bytes
        assert not after.stack_bytes
