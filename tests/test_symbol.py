"""cuTile symbols: what they say, against cuda-tile's own mangler where that is installed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.diagnose.report.symbol import Constant, Parameter, decode, name_constants, python_name

SOFTMAX = "softmax_k_Kt1_A2bf16_1v8l0_2t1_3i16_p16_A2bf16_1v8l0_2t1_3i16_p16_I32768_I4096_I0"
BMM = (
    "_static_persistent_bmm_kernel_Kt1_A3f16_3v8l0_4i16t1_p16_A3f16_1v8_2i16_3l0_4t1_p16"
    "_A3f16_3v8l0_4t1_6i16_p16_Si32_I128_I256_I511_I64_I64_I64_I8_B1_B1"
)


def test_a_recorded_symbol():
    decoded = decode(SOFTMAX)
    assert (decoded.name, decoded.convention) == ("softmax_k", "t1")
    assert decoded.parameters[0] == Parameter("array", "bfloat16", 2)
    assert decoded.constants == (Constant(2, 32768), Constant(3, 4096), Constant(4, 0))


def test_scalars_are_no_constants():
    decoded = decode(BMM)
    assert decoded.parameters[3] == Parameter("scalar", "int32")
    assert [c.value for c in decoded.constants] == [128, 256, 511, 64, 64, 64, 8, True, True]
    assert decoded.constants[0].position == 4


@pytest.mark.parametrize(
    ("signature", "constants"),
    [
        ("Kt1_I_5_B0", [(0, -5, ()), (1, False, ())]),
        ("Kt1_F3ff8000000000000", [(0, 1.5, ())]),
        ("Kt2_A1f32_1s_7_p16g0iw_T2I3T1I4_Lg0iA2f16", [(1, 3, (0,)), (1, 4, (1, 0))]),
        ("Kt3_Cn__Cs_a_k__b_2e_z_Cd_bf16_M_Pf32_R", [(0, None, ()), (1, "aK_b.", ()), (2, "bfloat16", ())]),
        ("Kt3_Ce_mod_zMode_zFAST_z", [(0, "Mode.FAST", ())]),
        ("Kt3_Dmod_zTiles_z2I8Si32", [(0, 8, (0,))]),
    ],
)
def test_every_kind_of_constant(signature, constants):
    decoded = decode(f"k_{signature}")
    assert [(c.position, c.value, c.item) for c in decoded.constants] == constants


@pytest.mark.parametrize(
    "signature", ["Kt9_Z3", "Kt1_A2q7", "Kt1_I", "Kt1_Cs__wffffffff_z", "Kt1_A2bf16_1", "Kt1_" + "L" * 5000]
)
def test_a_newer_grammar_keeps_the_name(signature):
    decoded = decode(f"some_kernel_{signature}")
    assert (decoded.name, decoded.parameters, decoded.constants) == ("some_kernel", None, ())


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (SOFTMAX, "softmax_k"),
        (BMM, "_static_persistent_bmm_kernel"),
        ("my_Kernel_Kt1_A1f32", "my_Kernel"),
        ("bare_Kt1", "bare"),
        ("sgemm_Kernel", "sgemm_Kernel"),
        ("void cutlass::Kernel_K<float>(int)", "void cutlass::Kernel_K<float>(int)"),
    ],
)
def test_python_name(symbol, name):
    assert python_name(symbol) == name


def test_naming_constants():
    constants = (Constant(1, 64), Constant(2, 8, (0,)), Constant(2, None, (1,)))
    assert name_constants(constants, ["x", "TILE", "shape"]) == {"TILE": 64, "shape[0]": 8, "shape[1]": None}
    assert name_constants(constants, ["x", "TILE"]) == {}


@given(st.text(max_size=40), st.text("ABCDFILMPRST_0123456789abefgiklpstuvwz", max_size=60))
def test_no_text_breaks_the_decoder(name, signature):
    decoded = decode(f"{name}_Kt1_{signature}")
    assert decoded is None or isinstance(decoded.constants, tuple)


@pytest.mark.compiler
@given(st.data())
def test_against_cuda_tiles_own_mangler(data):
    compilation = pytest.importorskip("cuda.tile.compilation")
    import cuda.tile as ct

    dtypes = {"bfloat16": ct.bfloat16, "float8_e5m2": ct.float8_e5m2, "int64": ct.int64, "tfloat32": ct.tfloat32}
    # An alias group needs two members.
    parameters = [_array(compilation, ct.float16, data, ("a", "b"))[0] for _ in range(2)]
    expected = [Parameter("array", "float16", array.ndim) for array in parameters]
    for _ in range(data.draw(st.integers(0, 6))):
        dtype = data.draw(st.sampled_from(sorted(dtypes)))
        constant = data.draw(st.booleans() | st.integers() | st.floats(allow_nan=False))
        array, rank = _array(compilation, dtypes[dtype], data)
        item, number = Parameter("array", dtype, rank), Parameter("constant", value=constant)
        arrays = compilation.ListConstraint(array, alias_groups=(), elements_may_alias=True)
        kinds = [
            (array, item),
            (compilation.ScalarConstraint(ct.int32), Parameter("scalar", "int32")),
            (compilation.ConstantConstraint(constant), number),
            (compilation.TupleConstraint((array, constant)), Parameter("tuple", items=(item, number))),
            (arrays, Parameter("list", items=(item,))),
        ]
        parameter, expect = data.draw(st.sampled_from(kinds))
        parameters.append(parameter)
        expected.append(expect)
    convention = compilation.CallingConvention.cutile_python_v2()
    symbol = compilation.KernelSignature(parameters, convention).with_mangled_symbol("my_Kernel").symbol
    decoded = decode(symbol)
    assert (decoded.name, decoded.parameters) == ("my_Kernel", tuple(expected))


def _array(compilation, dtype, data, groups=()):
    import cuda.tile as ct

    rank = data.draw(st.integers(0, 5))
    known = [data.draw(st.none() | st.integers(1, 70)) for _ in range(rank)]  # the strides that are constant
    divisors = st.sampled_from([1, 8, 16])
    array = compilation.ArrayConstraint(
        dtype,
        rank,
        index_dtype=data.draw(st.sampled_from([ct.int32, ct.int64])),
        stride_lower_bound_incl=[
            data.draw(st.none() | st.integers(-3, 70)) if each is None else None for each in known
        ],
        alias_groups=groups or data.draw(st.sampled_from([(), ("a",), ("a", "b")])),
        may_alias_internally=data.draw(st.booleans()),
        stride_constant=known,
        stride_divisible_by=[data.draw(divisors) if each is None else 1 for each in known],
        shape_divisible_by=[data.draw(divisors) for _ in range(rank)],
        base_addr_divisible_by=data.draw(divisors),
    )
    return array, rank
