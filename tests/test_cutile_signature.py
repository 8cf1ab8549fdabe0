"""That kdiag makes the signatures that cuda.tile's run time makes, and refuses what it refuses in words of its own."""

from collections import namedtuple
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any

import numpy as np
import pytest

from kdiag import isolate
from kdiag.errors import WorkloadError

pytest.importorskip("cuda.tile")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.compiler

import cuda.tile as ct

from command_lines import python
from cuda_run_time import symbol_of
from kdiag.cutile.signature import describe, signature
from kdiag.records import ArrayArgument, ScalarArgument

Pair = namedtuple("Pair", ["a", "b"])
TYPES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
TYPES += ["float16", "float32", "float64"]
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
FixedShape = ct.ArrayAnnotation(static_shape_dims=(0, -1))
FixedStride = ct.ArrayAnnotation(static_stride_dims=(0,))
FixedFar = ct.ArrayAnnotation(static_shape_dims=(2,))
FixedTwice = ct.ArrayAnnotation(static_shape_dims=(0, -2))


class Mode(IntEnum):
    FAST = 3


@dataclass(frozen=True)
class Config:
    tile: int


def kernel(annotation=None):
    """A kernel of one parameter."""

    def k(x):
        pass

    if annotation is not None:
        k.__annotations__["x"] = annotation
    return ct.kernel(k)


def grid(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def accepted():
    """An annotation and a value that the run time takes for it."""
    constant, arrays = ct.Constant[int], tuple[Annotated[Any, FixedShape], ct.Constant[int]]
    pitched = [grid(4, 12)[:, :8], grid(4, 12)[:, 4:]]
    return {
        **{name: (None, grid(3, 32, dtype=name)) for name in TYPES},
        **{name: (None, grid(3, 32, dtype=getattr(ml_dtypes, name))) for name in NARROW},
        "no axes": (None, grid()),
        "no elements": (None, grid(0, 16)),
        "a single row": (None, grid(1, 64)),
        "six axes": (None, grid(1, 2, 1, 16, 1, 16)),
        "transposed": (None, grid(16, 32).T),
        "backwards": (None, grid(4, 32)[:, ::-1]),
        "overlapping": (None, np.lib.stride_tricks.sliding_window_view(grid(64), 16)),
        "broadcast": (None, np.broadcast_to(grid(1, 32), (8, 32))),
        "off by one": (None, grid(65)[1:]),
        "wide index": (ct.IndexedWithInt64, grid(4, 16)),
        "fixed shape": (Annotated[Any, FixedShape], grid(4, 5, 16)),
        "fixed stride": (Annotated[Any, FixedStride], grid(4, 16)),
        "integer": (None, -5),
        "truth": (None, True),
        "float": (None, 2.5),
        "numpy's float": (None, np.float64(2.5)),
        "enumerated": (None, Mode.FAST),
        "wide integer": (ct.ScalarInt64, 2**40),
        **{f"constant {value}": (constant, value) for value in (True, -7, 2**64 - 1, 0.5, float("nan"))},
        "constant of numpy": (ct.Constant[float], np.float64(0.25)),
        "enumerated constant": (constant, Mode.FAST),
        "tuple": (None, (grid(16), 3, 2.0, False)),
        "nested tuple": (None, (1, (grid(1, 16), (2.0, ())))),
        "tuple of constants": (ct.Constant[tuple], (8, (16, 0.5))),
        "annotated tuple": (arrays, (grid(4, 16), 8)),
        "homogeneous tuple": (tuple[ct.ScalarInt64, ...], (2**33, 1)),
        "list": (None, [grid(4, 16), grid(16, 32)]),
        "unequal list": (None, [grid(1, 16), grid(17)[1:].reshape(2, 8), grid(1, 16)[:, ::2]]),
        "wide list": (Annotated[list, ct.ListAnnotation(element=ct.IndexedWithInt64)], [grid(4)]),
        "list of fixed strides": (Annotated[list, ct.ListAnnotation(element=FixedStride)], pitched),
    }


def refused():
    """An annotation, a value that the run time does not take for it, and what kdiag says."""
    constant, unequal = ct.Constant[int], [grid(4, 16), grid(8, 16)]
    shaped, strided = (Annotated[list, ct.ListAnnotation(element=each)] for each in (FixedShape, FixedStride))
    return {
        "four bits": (None, grid(4, dtype=ml_dtypes.float4_e2m1fn), "x is of type float4_e2m1fn, of which"),
        "numpy's other float": (None, np.float32(1), "x is a float32; kernels take"),
        "numpy's integer": (constant, np.int32(1), "x is a int32; constants are"),
        "none": (None, None, "x is a NoneType; kernels take"),
        "constant none": (constant, None, "x is a NoneType; constants are"),
        "constant text": (constant, "fast", "x is a str; constants are"),
        "constant type": (constant, ct.float32, "x is a DType; constants are"),
        "constant list": (constant, [1], "x is a list; constants are"),
        "large constant": (constant, 2**64, "does not fit 64 bits"),
        "small constant": (constant, -(2**63) - 1, "does not fit 64 bits"),
        "large integer": (None, 2**31, "does not fit 32 bits; annotate the parameter ct.ScalarInt64"),
        "dataclass": (None, Config(8), "x is a Config, a dataclass; kernels take"),
        "named tuple": (None, Pair(1, 2), "x is a Pair, a subclass of tuple; kernels take plain tuples"),
        "item": (None, (1, (2, None)), r"x\[1\]\[1\] is a NoneType"),
        "short tuple": (tuple[int, int], (1,), "x is a tuple of 1; its parameter is annotated as a tuple of 2"),
        "no tuple": (tuple[int, ...], 1, "x is a int; its parameter is annotated as a tuple"),
        "empty list": (None, [], "x is a list of something else than arrays, or empty"),
        "list of types": (None, [grid(4), grid(4, dtype=int)], "x differ in type or rank"),
        "list of shapes": (shaped, unequal, "x differ in the shape that its annotation fixes"),
        "list of strides": (strided, [grid(4, 16), grid(4, 8)], "x differ in the strides"),
        "far axis": (Annotated[Any, FixedFar], grid(4, 4), r"fixes the axes \(2,\)"),
        "axis twice": (Annotated[Any, FixedTwice], grid(4, 4), "which are not different axes"),
        "backwards": (Annotated[Any, FixedStride], grid(4)[::-1], "fixes a stride, and the array has it neg"),
    }


def ours(annotation, value):
    return str(signature(kernel(annotation), (value,)).symbol)


def random_array(random):
    shape = random.choice([0, 1, 2, 3, 8, 16, 32], random.integers(0, 5))
    strides = random.choice([0, 1, 2, 4, 8, 16, 32, 128], len(shape))
    memory = np.zeros(1 << 14, random.choice(TYPES))[random.integers(0, 20) :]
    return np.lib.stride_tricks.as_strided(memory, shape, strides * memory.itemsize)


def compare(_request):
    """In a child: what kdiag and what the run time say of each case."""
    answers = {name: (ours(*case), symbol_of(kernel(case[0]), (case[1],))) for name, case in accepted().items()}
    answers |= {
        f"refused: {name}": ("", symbol_of(kernel(note), (value,))) for name, (note, value, _) in refused().items()
    }
    random = np.random.default_rng(1)
    for index in range(300):
        array = random_array(random)
        value = [array, array[...]] if index % 3 == 0 else (array,) if index % 3 == 1 else array
        text = f"random {index}: {array.dtype} {array.shape} {array.strides}"
        answers[text] = (ours(None, value), symbol_of(kernel(), (value,)))
    return answers


@pytest.fixture(scope="module")
def answers():
    answered = isolate.run(compare, None, timeout_s=120)
    assert isinstance(answered, dict), answered
    return answered


@pytest.mark.parametrize("name", accepted())
def test_the_symbol_is_the_run_times(name, answers):
    kdiag, run_time = answers[name]
    assert run_time.startswith("k_Kt")
    assert kdiag == run_time


def test_the_symbol_is_the_run_times_for_any_array(answers):
    assert not {name: both for name, both in answers.items() if name.startswith("random") and both[0] != both[1]}


@pytest.mark.parametrize("name", refused())
def test_what_the_run_time_refuses_is_one_clear_error(name, answers):
    annotation, value, message = refused()[name]
    assert "Error: " in answers[f"refused: {name}"][1]
    with pytest.raises(WorkloadError, match=message):
        signature(kernel(annotation), (value,))


@pytest.mark.parametrize(
    ("annotation", "value", "wanted"),
    [
        (ct.IndexedWithInt64, 1, "an array"),
        (Annotated[list, ct.ListAnnotation(element=FixedShape)], grid(4), "a list of arrays"),
        (ct.ScalarInt64, 1.0, "an integer"),
    ],
)
def test_what_the_compiler_refuses_is_one_clear_error(annotation, value, wanted):
    with pytest.raises(WorkloadError, match=f"; its parameter is annotated as {wanted}"):
        signature(kernel(annotation), (value,))


def test_arrays_that_lie_between_elements_or_are_of_another_byte_order():
    packed = np.zeros(8, np.dtype([("a", np.int8), ("b", np.float32)]))["b"]
    with pytest.raises(WorkloadError, match="no whole elements"):
        ours(None, packed)
    with pytest.raises(WorkloadError, match="is of type >f4"):
        ours(None, np.zeros(8, ">f4"))


def test_the_records_name_every_item():
    note = tuple[ct.Constant[int], Any, Any]
    found = describe(kernel(note), ((np.float64(4), [grid(2, 16)], (grid(17)[1:], True)),))
    assert found == (
        ScalarArgument("x[0]", 4.0, constant=True),
        ArrayArgument("x[1][0]", "float32", (2, 16), (16, 1), 16),
        ArrayArgument("x[2][0]", "float32", (16,), (1,), 1),
        ScalarArgument("x[2][1]", True, constant=False),
    )
    assert type(getattr(found[0], "value", None)) is float
    for value in ([1], None, Pair(1, 2)):
        with pytest.raises(WorkloadError, match="kernels take"):
            describe(kernel(), (value,))


@pytest.mark.parametrize("dtype", [*TYPES, *NARROW])
def test_torch_has_the_types_that_numpy_has(dtype):
    torch = pytest.importorskip("torch")
    tensor = torch.empty((3, 32), dtype=getattr(torch, dtype), device="meta")
    assert ours(None, tensor) == ours(None, grid(3, 32, dtype=getattr(ml_dtypes, dtype, dtype)))


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "complex64", "float8_e4m3fnuz"])
def test_torch_has_types_of_which_a_kernel_takes_no_arrays(dtype):
    torch = pytest.importorskip("torch")
    with pytest.raises(WorkloadError, match=f"is of type {dtype}, of which a kernel takes no arrays"):
        ours(None, torch.empty(8, dtype=getattr(torch, dtype), device="meta"))


def test_torch_is_not_needed():
    code = (
        "import sys, numpy, cuda.tile as ct; from kdiag.cutile.signature import describe, signature\n"
        "kernel = ct.kernel(lambda x: None); describe(kernel, (numpy.zeros(4),))\n"
        "signature(kernel, (numpy.zeros(4),)); print('torch' in sys.modules)"
    )
    assert python(code).stdout == "False\n"
