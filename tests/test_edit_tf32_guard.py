"""D casts both operands, keeps the accumulator in float32, and costs as much precision as tfloat32 has bits less."""

import numpy as np
import pytest

from edit_emulation import applied, edited, refused, run
from kdiag.executors.edits.examples.tf32_guard import EXAMPLES
from kdiag.executors.edits.tf32_guard import Tf32Guard
from kdiag.records import ArrayArgument, Launch, Variant

MATMUL = EXAMPLES[0].before
IN_FUNCTION = MATMUL.replace(
    "@ct.kernel", "def product(a, b, total):\n    return ct.mma(a, b, total)\n\n\n@ct.kernel"
).replace("= ct.mma(a_tile, b_tile, accumulator)", "= product(a_tile, b_tile, accumulator)")


def launches(*dtypes):
    arrays = (ArrayArgument(f"x{n}", dtype, (64, 64), (64, 1)) for n, dtype in enumerate(dtypes))
    return (Launch("matmul_kernel", (1, 1, 1), tuple(arrays)),)


def error(source, size):
    """The largest error against float64, relative to the largest result."""
    random = np.random.default_rng(3)
    a, b = (random.normal(size=(size, size)).astype(np.float32) for _ in range(2))
    c = np.zeros((size, size), np.float32)
    run(source, "matmul_kernel", (-(-size // 32), -(-size // 32), 1), (a, b, c, 32, 32, 32))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return float(np.abs(c - exact).max() / np.abs(exact).max())


@pytest.mark.parametrize("size", [33, 96])
@pytest.mark.parametrize("source", [MATMUL, IN_FUNCTION], ids=["in the kernel", "in a function"])
def test_the_error_is_too_large_for_1e_5_and_small_enough_for_1e_2(source, size):
    after = edited(Tf32Guard(), source, "matmul_kernel", "tf32")
    assert Tf32Guard().safety(Variant("D", "tf32")) == "changes-rounding"
    assert after.count(".dtype == ct.float32 else") == 2
    assert "accumulator = ct.full((TM, TN), 0.0, dtype=ct.float32)" in after
    assert error(source, size) < 1e-6
    assert 1e-5 < error(after, size) < 1e-2


def test_a_function_in_the_file_is_guarded_where_it_stands():
    outcome = applied(Tf32Guard(), IN_FUNCTION, "matmul_kernel", "tf32")
    assert outcome.source.count("def product") == 1
    assert outcome.warnings == ("other files that call product get the change as well",)
    assert refused(Tf32Guard(), outcome.source, "matmul_kernel", "tf32")


def test_without_a_float32_array_there_is_nothing_to_cast():
    for dtypes in (("bfloat16", "bfloat16"), ("float16",)):
        why = refused(Tf32Guard(), MATMUL, "matmul_kernel", "tf32", launches(*dtypes))
        assert "no launch passes a float32 array" in why
    mixed = launches("bfloat16") + launches("float32")
    assert edited(Tf32Guard(), MATMUL, "matmul_kernel", "tf32", mixed)


def test_an_explicit_float32_is_cast_whatever_the_launches_pass():
    source = MATMUL.replace("ct.mma(a_tile, b_tile", "ct.mma(ct.astype(a_tile, ct.float32), b_tile")
    assert edited(Tf32Guard(), source, "matmul_kernel", "tf32", launches("bfloat16"))
