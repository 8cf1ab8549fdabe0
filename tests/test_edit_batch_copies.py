"""K does in one launch what a loop did, and leaves to the loop what one launch cannot do."""

import pytest

from edit_compilation import compile_to_cubin
from edit_emulation import emulating, module_of
from kdiag.executors.edits.examples.batch_copies import BATCHED, BATCHED_ROWS, CASTS, FIRST_ROWS

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.usefixtures("emulating")


def launches(source, sources, results):
    """How many launches the wrapper makes."""
    with emulating() as emulation:
        module_of(source).cast_all(sources, results, 3.0)
        return emulation.launches


def both(sources, before, *, rows=False):
    """Whether loop and batch agree bit for bit, and the number of launches of the batch."""
    after = [result.clone() for result in before]
    launches(FIRST_ROWS if rows else CASTS, sources, before)
    made = launches(BATCHED_ROWS if rows else BATCHED, sources, after)
    return all(torch.equal(one, other) for one, other in zip(before, after, strict=True)), made


@pytest.mark.parametrize("lengths", [(1, 7), (1023, 1024, 1025), (2500, 1, 30, 4099), (64,)])
def test_tensors_of_different_lengths(lengths):
    sources = [torch.randn(length) for length in lengths]
    results = [torch.zeros(length, dtype=torch.float16) for length in lengths]
    assert both(sources, results) == (True, 1)


def test_the_first_rows_of_matrices():
    sources = [torch.randn(1, length) for length in (3, 2000)]
    assert both(sources, [torch.zeros_like(source) for source in sources], rows=True) == (True, 1)


def test_slices_of_one_buffer_that_do_not_meet_run_together():
    sources, buffer = [torch.randn(100) for _ in range(3)], torch.zeros(300)
    assert both(sources, list(buffer.split(100)))[1] == 1


def test_what_is_unlike_runs_one_by_one():
    sources = [torch.randn(100), torch.randn(50)]
    results = [torch.zeros(100), torch.zeros(50, dtype=torch.float16)]
    assert both(sources, results) == (True, 2)
    assert both([], []) == (True, 0)


def test_a_result_that_a_later_item_reads_runs_one_by_one():
    def chain():
        first, second, third = torch.ones(100), torch.zeros(100), torch.zeros(100)
        return [first, second], [second, third]

    (sources, results), (again, others) = chain(), chain()
    launches(CASTS, sources, results)
    assert launches(BATCHED, again, others) == 2
    assert torch.equal(results[1], others[1])
    assert results[1][0] == 9.0


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_the_kernel_over_lists_compiles(target):
    assert compile_to_cubin(BATCHED, "cast_kernel_batched", target).startswith(b"\x7fELF")
