"""A product off the tensor cores: whether its type or its tile is at fault, from source, launch and remark."""

import pytest

from kdiag.diagnose.compiler.observe_products import NAME, from_products
from kdiag.diagnose.source.read import read_source
from kdiag.records import ArrayArgument, CompileEvidence, Launch, Place, Remark

SOURCE = """import cuda.tile as ct

@ct.kernel
def k(a, b, c):
    x = ct.load(a, index=(0, 0), shape=(16, 16))
    y = ct.load(b, index=(0, 0), shape=(16, 16)){cast}
    ct.store(c, index=(0, 0), tile=ct.mma(x, y, ct.zeros((16, 16), ct.float32)))
"""


def small(dtype, cast="", passed=False):
    arrays = tuple(ArrayArgument(name, dtype, (16, 16), (16, 1)) for name in "abc")
    said = Remark("RemarkTensorCoreMMA", passed, Place("k.py", 7, 35), "k")
    compiled = CompileEvidence("k", "sm_90", Launch("k", (1,), arrays), 32, 0, 0, 100, "", (said,), 0.1)
    return from_products(read_source(SOURCE.format(cast=cast), "k.py"), "k", [compiled])[NAME].value


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float8_e4m3fn"])
def test_a_type_that_tensor_cores_multiply_leaves_the_tile_at_fault(dtype):
    assert small(dtype) == 1
    assert small(dtype, passed=True) == 0


def test_the_type_at_fault_or_unknown_is_not_the_tiles():
    assert small("float32") == small("float64") == 0
    assert small("float16", cast=".astype(ct.float32)") == 0
    assert small("float32", cast=".astype(ct.float16)") == 0, "one operand alone"
