"""The check of an output: what must pass, what must fail, and that a check which cannot fail is refused."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

from kdiag.errors import WorkloadError
from kdiag.executors.correctness.controls import require_controls_to_fail
from kdiag.executors.correctness.judging import outputs_of, scaled_error, tolerance_for
from kdiag.executors.correctness.poison import guarded, poisoned_allocations
from kdiag.executors.device_timing import shortest_ms


@pytest.fixture
def softmax():
    generator = torch.Generator().manual_seed(3)
    return torch.softmax(torch.randn((64, 4096), generator=generator, dtype=torch.float64), dim=1)


def test_rounding_to_the_output_type_is_right(softmax):
    rounded = softmax.to(torch.bfloat16)
    assert scaled_error(rounded, softmax) <= tolerance_for(None, rounded)


def test_zeros_are_wrong_although_every_element_is_below_an_absolute_tolerance(softmax):
    zeros = torch.zeros_like(softmax)
    assert torch.allclose(zeros, softmax, atol=1e-1)
    assert scaled_error(zeros, softmax) > 0.5


@pytest.mark.parametrize("dropped", [slice(-1, None), slice(32, None), slice(0, None, 2)], ids=["tail", "half", "odd"])
def test_missing_rows_are_wrong(softmax, dropped):
    wrong = softmax.clone()
    wrong[dropped] = 0
    assert scaled_error(wrong, softmax) > 8e-3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_one_element_that_is_not_finite_is_wrong(softmax, value):
    wrong = softmax.clone()
    wrong[5, 7] = value
    assert scaled_error(wrong, softmax) == float("inf")
    assert scaled_error(softmax, wrong) == float("inf")


def test_equal_infinities_and_nan_are_right():
    both = torch.tensor([1.0, float("inf"), float("nan"), -float("inf")])
    assert scaled_error(both, both.double()) == 0.0


def test_another_shape_is_wrong(softmax):
    assert scaled_error(softmax[:1], softmax) == float("inf")


def test_an_allocation_that_is_never_written_is_poison():
    with poisoned_allocations():
        assert torch.isnan(torch.empty(8)).all()
        assert torch.isnan(torch.empty_like(torch.ones(3))).all()
        assert torch.isnan(torch.ones(3).new_empty(4)).all()
        assert torch.isnan(torch.empty_permuted((2, 3), (1, 0))).all()
        assert torch.isnan(torch.ones(3).new_empty_strided((2, 2), (2, 1))).all()
        assert (torch.empty(4, dtype=torch.int32) == -(2**31)).all()
    assert torch.empty.__name__ == "empty"


def test_a_tolerance_that_accepts_zeros_is_refused(softmax):
    require_controls_to_fail(softmax, 8e-3, "rows")
    with pytest.raises(WorkloadError, match="accepts an output of zeros"):
        require_controls_to_fail(softmax, 1.0, "rows")


def test_a_constant_result_cannot_be_checked():
    with pytest.raises(WorkloadError, match="shifted"):
        require_controls_to_fail(torch.ones(256, dtype=torch.float64), 1e-3, "ones")


def test_run_must_return_tensors():
    with pytest.raises(WorkloadError, match="must return a tensor"):
        outputs_of(None)


def test_huge_elements_do_not_hide_that_the_others_are_wrong():
    generator = torch.Generator().manual_seed(5)
    vector = torch.rand(4096, generator=generator, dtype=torch.float64)
    vector[[0, -1]] = 1e6
    wrong = torch.zeros_like(vector)
    wrong[[0, -1]] = vector[[0, -1]]
    assert scaled_error(wrong, vector) > 0.01
    rows = torch.randn((64, 256), generator=generator, dtype=torch.float64)
    rows[[0, -1]] *= 1e4
    partly = torch.zeros_like(rows)
    partly[[0, -1]] = rows[[0, -1]]
    assert scaled_error(partly, rows) > 0.1


def test_large_numbers_do_not_overflow_and_integers_must_be_equal():
    assert scaled_error(torch.tensor([0.0, 1e200]).double(), torch.tensor([5e199, 1e200], dtype=torch.float64)) > 0.1
    counts = torch.tensor([2**60])
    assert scaled_error(counts + 1, counts) == float("inf")
    assert scaled_error(counts.clone(), counts) == 0.0
    assert scaled_error(torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.float64)) == float("inf")


def test_rows_of_zeros_may_be_zero_but_not_more():
    rows = torch.randn((8, 64), generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    rows[3] = 0
    assert scaled_error(rows.clone(), rows) == 0.0
    wrong = rows.clone()
    wrong[3] = 1e-2
    assert scaled_error(wrong, rows) > 1


def test_long_sums_in_float32_may_round_more_unless_the_workload_says_how_much():
    single, half = torch.zeros(1), torch.zeros(1, dtype=torch.bfloat16)
    assert tolerance_for(None, single, terms=65536) == pytest.approx(6 * 2.0**-24 * 256)
    assert tolerance_for(None, single, terms=100) == 1e-5
    assert tolerance_for(1e-6, single, terms=65536) == 1e-6
    assert tolerance_for(None, half, terms=65536) == 8e-3


def test_what_is_read_or_written_beside_an_input_is_seen():
    original = {"x": torch.arange(12.0).reshape(3, 4), "t": torch.ones(3, 4).T, "n": 3}
    inputs, written = guarded(original)
    x = inputs["x"]
    assert torch.equal(x, original["x"])
    assert x.data_ptr() % 16 == 0
    assert torch.isnan(x.as_strided((1,), (1,), x.storage_offset() + 12)).all()
    assert inputs["t"] is original["t"]  # not contiguous: left where it is
    assert written() is None
    x.as_strided((1,), (1,), x.storage_offset() - 1).zero_()
    assert written() == "x"


def test_the_physical_limit_is_that_of_memory_or_of_products():
    assert shortest_ms(400e6, 4000.0, 1e15, None) == pytest.approx(0.1 / 1.02)
    assert shortest_ms(-1e6, 4000.0, 1e12, None) <= 0  # all of it may stay in L2
    assert shortest_ms(-1e6, 4000.0, 1e12, 500.0) == pytest.approx(2 / 1.5)
