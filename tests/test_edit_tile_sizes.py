"""What a kernel computes with other tile sizes: the same, bit for bit, also where the last tile is cut off."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edit_emulation
from edit_emulation import called, edited
from kdiag.executors.edits.autotune import Autotune
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.examples.split_rows import ROWS
from kdiag.executors.edits.examples.tile_sizes import DOUBLE, FROM_DATA, MATMUL
from kdiag.executors.edits.tile_sizes import TileSizes
from kdiag.records import Launch, ScalarArgument

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.usefixtures("emulating")

EDIT = TileSizes()
resized, refused = partial(edited, EDIT), partial(edit_emulation.refused, EDIT)
WRAPPERS = {"matmul_kernel": "matmul", "double_kernel": "double", "gate_kernel": "gate"}
APPLIED = [example for example in TileSizes.examples if example.after is not None]
# A kernel that adds up a row chunk by chunk; the chunk is bounded, and follows shorter rows.
CHUNKS = """\
import cuda.tile as ct
import torch


def next_power_of_2(n):
    return 1 << (n - 1).bit_length()


@ct.kernel
def sum_kernel(x, y, n: int, T: ct.Constant[int]):
    row = ct.bid(0)
    total = ct.full((T,), 0.0, dtype=ct.float32)
    for j in range(ct.cdiv(n, T)):
        total += ct.gather(x, (row, j * T + ct.arange(T, dtype=ct.int32)))
    ct.scatter(y, row, ct.sum(total))


def row_sums(x):
    y = torch.empty((x.shape[0],), dtype=x.dtype)
    n = x.shape[1]
    limit = 4096 // x.element_size()
    tile = min(limit, next_power_of_2(n))
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), sum_kernel, (x, y, n, tile))
    return y
"""


def test_a_variant_says_how_much_the_tiles_grow():
    variants = {each.name: each for each in EDIT.variants(Subject(MATMUL, "matmul_kernel"))}
    sizes = next(iter(variants.values())).present
    assert variants["tile_m=128,tile_n=64"].growth == 128 * 64 / (sizes["tile_m"] * sizes["tile_n"])
    assert all(each.growth is None for each in EDIT.variants(Subject(FROM_DATA, "double_kernel")))


def inputs(kernel, *extents):
    generator = torch.Generator().manual_seed(sum(extents))
    shapes = {
        "matmul_kernel": [extents[:2], (extents[1], extents[2])],
        "double_kernel": [(extents[0] * extents[1],)],
        "gate_kernel": [extents[:2]] * 2,
    }[kernel]
    return [torch.randn(shape, generator=generator) for shape in shapes]


def same(before, after, wrapper, *arguments):
    return torch.equal(called(before, wrapper, *arguments), called(after, wrapper, *arguments))


def test_no_tile_has_more_elements_than_an_sm_has_registers():
    wide = CHUNKS.replace("full((T,)", "full((T, D)").replace("tile = min(limit, next_power_of_2(n))", "tile = 256")
    launch = Launch("sum_kernel", (1,), (ScalarArgument("D", 128, constant=True),))
    anything, held = (EDIT.variants(Subject(wide, "sum_kernel", launches=each)) for each in ((), (launch,)))
    larger = {each.name for each in anything} - {each.name for each in held}
    assert larger == {"tile=1024", "tile=2048", "tile=4096"}


@pytest.mark.parametrize("extents", [(1, 1, 1), (3, 331, 7), (5, 2500, 2)])
@pytest.mark.parametrize("example", APPLIED, ids=[example.name for example in APPLIED])
def test_the_edited_example_computes_the_same(example, extents):
    wrapper = WRAPPERS[example.kernel]
    arguments = inputs(example.kernel, *extents)
    if wrapper != "matmul" or example.settings.get("tile_k") is None:
        assert same(example.before, example.after, wrapper, *arguments)
    else:
        first, second = (called(source, wrapper, *arguments) for source in (example.before, example.after))
        torch.testing.assert_close(first, second)


@settings(max_examples=15, deadline=None)
@given(
    length=st.one_of(st.sampled_from([1, 511, 512, 513, 4099]), st.integers(1, 3000)),
    size=st.sampled_from([64, 128, 512, 1024]),
)
def test_a_vector_of_any_length_at_any_size(length, size):
    assert same(DOUBLE, resized(DOUBLE, "double_kernel", block=size), "double", torch.arange(float(length)))


@pytest.mark.parametrize("columns", [1, 2047, 2048, 2049, 5000])
def test_a_row_that_is_split_is_written_once_and_completely(columns):
    split = resized(ROWS, "gate_kernel", tile=2048)
    assert same(ROWS, split, "gate", torch.randn(2, columns), torch.randn(2, columns))


def test_a_bound_on_a_chunk_changes_only_the_order_of_a_sum():
    outcome = edit_emulation.applied(EDIT, CHUNKS, "sum_kernel", tile=512)
    assert outcome.safety == "changes-rounding"
    assert "tile = min(512, min(limit, next_power_of_2(n)))" in outcome.source
    x = torch.randn(3, 2500)
    torch.testing.assert_close(called(CHUNKS, "row_sums", x), called(outcome.source, "row_sums", x))


def test_a_size_that_a_reduction_takes_whole_is_not_bounded():
    whole = CHUNKS.replace("    for j in range(ct.cdiv(n, T)):\n    ", "    j = 0\n")
    assert "the kernel reduces it" in refused(whole, "sum_kernel", tile=512)


@pytest.mark.parametrize("call", ["torch.row(total)", "Helper.row(total)", "total.row()"])
def test_a_call_through_an_attribute_may_reduce(call):
    source = CHUNKS.replace("ct.sum(total)", call)
    assert "into which others were added" in refused(source, "sum_kernel", tile=512)
    settled = source.replace("tile = min(limit, next_power_of_2(n))", "tile = 256")
    assert "writes a tile of T into which others were added" in refused(settled, "sum_kernel", tile=128)


def test_unchecked_accesses_allow_smaller_tiles_only():
    source = DOUBLE.replace("bid, cdiv", "arange, bid, cdiv, gather, int32").replace(
        "load(x, (bid(0),), shape=(T,))", "gather(x, bid(0) * T + arange(T, dtype=int32), check_bounds=False)"
    )
    assert "can only become smaller" in refused(source, "double_kernel", block=512)
    for size in (48, 0, -4, 1.5, True, "abc"):
        assert f"a tile size is a power of two, and block={size} is" in refused(source, "double_kernel", block=size)
    assert "number of warps is a power of two" in refused(source, "double_kernel", block=64, num_worker_warps="abc")
    assert refused(source, "double_kernel", rows=64).endswith("no tile size named rows; it has block")
    assert "block: int = 128" in resized(source, "double_kernel", block=128)


def test_a_part_of_a_row_is_not_left_by_a_larger_tile():
    source = CHUNKS.replace("    n = x.shape[1]\n", "").replace("def row_sums(x)", "def row_sums(x, n)")
    source = source.replace("tile = min(limit, next_power_of_2(n))", "tile = 256")
    assert "can only become smaller" in refused(source, "sum_kernel", tile=512)
    assert "tile = 128" in resized(source, "sum_kernel", tile=128)


def test_a_grid_literal_that_may_stand_for_two_sizes_is_left_alone():
    grid = MATMUL.replace("ct.cdiv(m, TILE_M), ct.cdiv(n, TILE_N)", "ct.cdiv(m, 128), ct.cdiv(n, 128)")
    assert "may stand for TM or for another tile size" in refused(grid, "matmul_kernel", tile_m=256)
    passed = grid.replace("(a, b, c, TILE_M, TILE_N, TILE_K)", "(a, b, c, 128, 128, TILE_K)")
    assert "repeats the literal 128 of TM" in refused(passed, "matmul_kernel", tm=256)
    assert "TILE_K = 32" in resized(passed, "matmul_kernel", tile_k=32)


def test_a_local_name_of_another_launch_is_another_constant():
    two = FROM_DATA + FROM_DATA[FROM_DATA.index("@kernel") :].replace("double", "twice")
    assert "min(1024, 1 <<" in resized(two, "twice_kernel", block=1024)


@pytest.mark.parametrize("value", ["tile * T", "(tile + tile) / T"])
def test_a_size_that_is_a_value_stays(value):
    assert "writes the size T of a tile" in refused(DOUBLE.replace("tile + tile", value), "double_kernel", block=512)


def test_a_constant_of_two_launches_in_one_wrapper_is_refused():
    kernel = DOUBLE[DOUBLE.index("@kernel") : DOUBLE.index("def double(")].replace("double", "other")
    call = DOUBLE[DOUBLE.index("    launch(") : DOUBLE.index("    return")]
    source = DOUBLE.replace("def double(", f"{kernel}def double(").replace(
        "    return", f"{call.replace('double', 'other')}    return"
    )
    assert "block is also passed to another kernel" in refused(source, "double_kernel", block=512)


def test_a_search_for_a_product_leaves_out_what_would_spill():
    source = edited(Autotune(), MATMUL, "matmul_kernel", "tiles-and-hints")
    assert "(128, 128, 64, 2, None)" in source
    assert "(128, 128, 64, 4, None)" not in source, "four accumulators fill an SM's registers"
