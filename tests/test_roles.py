"""Which launches are to be diagnosed, and their parts of the time."""

import pytest

from kdiag.diagnose.report.roles import role_of, shares
from kdiag.rules.load_launch_roles import load_launch_roles

EXAMPLES = [(example, rule.role) for rule in load_launch_roles() for example in rule.examples]


@pytest.mark.parametrize(("symbol", "role"), EXAMPLES, ids=[symbol[:60] for symbol, _ in EXAMPLES])
def test_every_example_has_its_role(symbol, role):
    assert role_of(symbol) == role


def test_every_rule_is_needed():
    for rule in load_launch_roles():
        assert rule.reason
        assert any(rule.pattern.search(example) for example in rule.examples)
        decided = [next(r for r in load_launch_roles() if r.pattern.search(e)) for e in rule.examples]
        assert rule in decided


@pytest.mark.parametrize(
    "symbol",
    [
        "softmax_k_Kt1_A2bf16_1v8l0_2t1_3i16_p16_I4096",
        "FillFunctor_Kt1_A1f32",
        "at_native_fill_kernel_Kt1_I4",
        "silu_kernel_non_strided",
        "triton_poi_fused_add_0",
        "daxpy_kernel(int, double, double *, double *)",
        "sgemm_global_mem_coalesce(const float *, const float *, float *, int, int, int, float, float)",
        "void Kernel<Gemm<MmaPipelined<GemmShape<128, 256, 32>, ...>>>(Params)",
        "initRNG(curandStateXORWOW*, unsigned int)",
        "memory_bound_kernel",
        "flash_attention_forward",
        "matrix_copy(float *, float *)",
        "range",
    ],
)
def test_kernels_of_the_user(symbol):
    assert role_of(symbol) == "kernel"


def test_shares():
    assert shares([30.0, 10.0]) == (75.0, 25.0)
    assert shares([30.0, None]) == (None, None)
    assert shares([0.0]) == (None,)
    assert shares([]) == ()
