"""What tile accesses compute and compile to, beyond the examples that the edits carry."""

from functools import partial

import libcst as cst
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edit_emulation
from bundled import EXAMPLES, kernel_file
from edit_emulation import launched_kernel as result
from edit_emulation import numbers
from kdiag import workload as workloads
from kdiag.diagnose.compiler.observe import from_compilation
from kdiag.executors.edits.accesses.padding_modes import VALUE_OF_MODE, mode_of_value
from kdiag.executors.edits.examples.tile_load_store import ADD, ROW_COPY, SCALE, SOFTMAX
from kdiag.executors.edits.tile_load_store import FORWARD, INVERSE, TileLoadStore
from kdiag.records import CompileFailure

pytestmark = pytest.mark.usefixtures("emulating")
COMPILED = ("tile-load-store", "tile-load-store-no-tma")
EXPECTED_PROMISES = {"softmax": 3, "rms_norm": 4, "vector_add": 2}
KERNELS = ("softmax", "rms_norm", "vector_add")
edited = partial(edit_emulation.edited, TileLoadStore())


@pytest.mark.parametrize("length", [1, 97, 1000, 1023, 1025])
@pytest.mark.parametrize("variant", FORWARD)
def test_a_vector_whose_length_is_no_multiple_of_the_tile(length, variant):
    grid, inputs = (-(-length // 64),), (numbers(length), numbers(length), 64)
    before = result(ADD, "add", grid, inputs, (length,))
    after = edited(ADD, "add", variant)
    assert np.array_equal(result(after, "add", grid, inputs, (length,)), before)
    assert np.array_equal(before, inputs[0] + inputs[1])
    assert "index=(ct.bid(0) *" not in after


@pytest.mark.parametrize("variant", FORWARD)
@given(rows=st.integers(1, 3), columns=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_rows_compute_the_same_with_every_variant(variant, rows, columns):
    x = numbers(rows, columns)
    for source, kernel, scalars in ((SOFTMAX, "softmax", (64,)), (SCALE, "scale", (columns, 8))):
        before = result(source, kernel, (rows,), (x, *scalars), x.shape)
        after = result(edited(source, kernel, variant), kernel, (rows,), (x, *scalars), x.shape)
        assert np.array_equal(before, after)


@given(rows=st.integers(1, 3), columns=st.integers(1, 40))
@settings(max_examples=25, deadline=None)
def test_the_inverse_computes_the_same(rows, columns):
    x = numbers(rows, columns)
    grid = (rows, -(-columns // 8))
    before = result(ROW_COPY, "copy", grid, (x, 8), x.shape)
    after = result(edited(ROW_COPY, "copy", INVERSE), "copy", grid, (x, 8), x.shape)
    assert np.array_equal(before, after)
    assert np.array_equal(before, x * 2)


@pytest.mark.parametrize("name", KERNELS)
def test_there_and_back_leaves_no_tile_access(name):
    tiles = edited(kernel_file(name).read_text(), f"{name}_kernel", "tile-load-store")
    assert "gather" not in tiles.split("def ", 1)[1]
    back = edited(tiles, f"{name}_kernel", INVERSE)
    assert "ct.load" not in back
    assert "ct.store" not in back
    for variant in FORWARD:
        assert edit_emulation.refused(TileLoadStore(), tiles, f"{name}_kernel", variant)


@pytest.mark.parametrize("value", [text for text in VALUE_OF_MODE.values() if text is not None])
def test_padding_goes_there_and_back(value):
    assert VALUE_OF_MODE[mode_of_value(cst.parse_expression(value)) or ""] == value


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ("0", "ZERO"),
        ("-0", "ZERO"),
        ("0.0", "ZERO"),
        ("-0.0", "NEG_ZERO"),
        ("-math.inf", "NEG_INF"),
        ('float("-inf")', "NEG_INF"),
        ("np.nan", "NAN"),
        ("1", None),
        ("-3.4e38", None),
        ("fill", None),
        ('float("x")', None),
    ],
)
def test_only_the_very_same_padding_is_carried_over(written, mode):
    assert mode_of_value(cst.parse_expression(written)) == mode


STALE = """\
import cuda.tile as ct


@ct.kernel
def stale(x, y, n: int, T: ct.Constant[int]):
    row = ct.bid(0)
    for j in range(ct.cdiv(n, T)):
        columns = j * T + ct.arange(T, dtype=ct.int32)
        {first}
    for j in range(ct.cdiv(n, T)):
        {second}
        ct.scatter(y, (row, columns), ct.gather(x, (row, columns)))
"""


def test_a_range_left_over_from_another_loop_is_refused():
    """`columns` still holds the last tile of the first loop; tile number j would be another one."""
    left_over = STALE.format(first="pass", second="pass")
    assert edit_emulation.refused(TileLoadStore(), left_over, "stale", "tile-load-store")
    renewed = STALE.format(first="pass", second="columns = j * T + ct.arange(T, dtype=ct.int32)")
    assert "index=(row, j)" in edited(renewed, "stale", "tile-load-store")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """What the tile compiler says about each example kernel: as it is, edited, and edited back."""
    from kdiag.diagnose.compiler.compile import compile_workload

    found = {}
    for name in KERNELS:
        described = workloads.read(EXAMPLES / name)
        source, kernel = described.kernel_file.read_text(), f"{name}_kernel"
        texts = {"": source} | {variant: edited(source, kernel, variant) for variant in COMPILED}
        texts[INVERSE] = edited(texts["tile-load-store"], kernel, INVERSE)
        folder = tmp_path_factory.mktemp(name)
        paths = [folder / (f"{variant or 'start'}.py") for variant in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text)
        answers = compile_workload(described, paths, "sm_90", timeout_s=120)
        for variant, answer in zip(texts, answers, strict=True):
            assert not isinstance(answer, CompileFailure), (name, variant, answer)
            found[name, variant] = answer
    return found


def lines(compiled, observation):
    """The lines at which the compiler says that it took TMA."""
    what = "Load" if observation == "compile.tma_loads" else "Store"
    name = f"RemarkMemory{what}InstructionSelected"
    remarks = [remark for evidence in compiled for remark in evidence.remarks]
    return {r.where.line for r in remarks if r.name == name and "TMA" in r.instruction}


@pytest.mark.compiler
@pytest.mark.parametrize("name", KERNELS)
def test_the_compiler_keeps_what_each_variant_promises(name, compiled):
    source = kernel_file(name).read_text()
    launches = tuple(evidence.launch for evidence in compiled[name, ""])
    made = 0
    for parent, variant in [("", variant) for variant in COMPILED] + [("tile-load-store", INVERSE)]:
        text = source if not parent else edited(source, f"{name}_kernel", parent)
        for promise in edit_emulation.applied(TileLoadStore(), text, f"{name}_kernel", variant, launches).promises:
            made += 1
            said = lines(compiled[name, variant], promise.observation)
            assert promise.lines
            if promise.change == "at-lines":
                assert set(promise.lines) <= said, (variant, promise)
            else:
                assert not said & set(promise.lines), (variant, promise)
    assert made == EXPECTED_PROMISES[name]


@pytest.mark.compiler
@pytest.mark.parametrize("name", KERNELS)
def test_without_tma_nothing_goes_through_tma(name, compiled):
    for variant in ("tile-load-store-no-tma", INVERSE, ""):
        observed = from_compilation(compiled[name, variant])
        assert observed["compile.tma_loads"].value == observed["compile.tma_stores"].value == 0
