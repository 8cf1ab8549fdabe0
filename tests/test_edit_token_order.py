"""J leaves every result as it was, and the compiler's order is only taken away where it is proved needless."""

from dataclasses import replace
from functools import partial

import pytest

import edit_emulation
from bundled import EXAMPLES
from kdiag.executors.edits.examples.token_order import COUNTED, FLOATS, HALVES, MOVED, NEXT, SUMS
from kdiag.executors.edits.token_order import TokenOrder
from kdiag.records import CompileEvidence, CompileFailure, Launch

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")


applied, refused = partial(edit_emulation.edited, TokenOrder()), partial(edit_emulation.refused, TokenOrder())


@pytest.mark.parametrize("columns", [65, 127, 128, 200])
@pytest.mark.parametrize("source", [HALVES, NEXT])
def test_halves_that_are_loaded_first_are_scaled_as_before(source, columns):
    first = torch.randn(10, columns)
    second = first.clone()
    rows = 5 if source == NEXT else 10
    edited = applied(source, "halves_kernel", "loads-first")
    for text, array in ((source, first), (edited, second)):
        edit_emulation.run(text, "halves_kernel", (rows,), (array, 64))
    assert torch.equal(first, second)


@pytest.mark.parametrize("columns", [1, 63, 130])
def test_sums_in_any_order_are_the_sums(columns):
    x = torch.randint(0, 100, (37, columns)).float()
    edited = applied(SUMS, "sums_kernel", "relaxed-atomics")
    for text in (SUMS, edited):
        totals = torch.zeros(columns)
        edit_emulation.run(text, "sums_kernel", (3, 4), (x, totals, 64))
        assert torch.equal(totals, x.sum(0))


@pytest.mark.parametrize(
    ("between", "said"),
    [
        ("factor = ct.sum(ct.load(x, (row, 1), (1, T)))", None),
        ("ct.atomic_add(x, (row, 0), 1.0)", "is read and written"),
        ("row = row + 1", "is read and written"),
        ("print_it(x)", "is read and written"),
        ("ct.scatter(x, (row, ct.arange(T, dtype=ct.int32)), 0.0)", "is read and written"),
    ],
)
def test_what_stands_between_load_and_store(between, said):
    source = HALVES.replace("factor = 3.0", between)
    if said is None:
        assert applied(source, "halves_kernel", "loads-first").count("ct.load") == 3
    else:
        assert said in refused(source, "halves_kernel", "loads-first")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tile=left * 2.0", "tile=ct.full((1, 32), 0.0, dtype=ct.float32)"),  # another grid of tiles
        ("index=(row, 0), tile", "index=(row, column), tile"),
        ("index=(row, 0), tile", "index=(row, T), tile"),
    ],
)
def test_tiles_that_may_meet_stay_in_order(old, new):
    assert "is read and written" in refused(HALVES.replace(old, new), "halves_kernel", "loads-first")


def test_a_counter_that_may_be_a_signal_keeps_its_order():
    counts = [replace(a, dtype="int32") if getattr(a, "name", "") == "totals" else a for a in FLOATS.arguments]
    launch = replace(FLOATS, arguments=tuple(counts))
    assert refused(COUNTED, "sums_kernel", "relaxed-atomics", launches=(launch,))


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["sm_90", "sm_100"])
def test_one_barrier_less(target):
    from edit_compilation import compile_to_cubin
    from kdiag.diagnose.compiler.cubin import read_cubin
    from kdiag.diagnose.compiler.instruction_mix import instruction_mix

    barriers = []
    for source in (HALVES, MOVED):
        cubin = compile_to_cubin(source, "halves_kernel", target)
        barriers.append(instruction_mix(cubin, next(iter(read_cubin(cubin))))["barrier"])
    assert barriers == [2, 1]


@pytest.mark.compiler
def test_the_probe_says_when_order_costs_nothing(tmp_path):
    from kdiag import workload as workloads
    from kdiag.loop.compiler import Compiler
    from kdiag.loop.token_order import probe

    file = EXAMPLES / "vector_add" / "vector_add.py"
    compiler = Compiler(workloads.of_kernel_file(file, None), file.name, "sm_90", tmp_path)
    evidence = probe(file.read_text(), "vector_add_kernel", compiler)
    assert evidence.value == 0
    assert "nothing to gain" in evidence.text


def test_the_probe_counts_the_barriers_that_fall_away():
    from kdiag.loop.token_order import compare

    def compiled(code_hash, barriers):
        launch = Launch("k", (1, 1, 1), ())
        mix = {"barrier": barriers}
        return CompileEvidence("k", "sm_90", launch, 16, 0, 0, 512, code_hash, (), 0.1, instructions=mix)

    evidence = compare((compiled("a", 10),), (compiled("b", 4),))
    assert evidence.value == 6
    assert "10" in evidence.text
    assert compare((compiled("a", 1),), CompileFailure("timeout", "no answer")).value is None
