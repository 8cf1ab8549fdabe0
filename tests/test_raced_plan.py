"""`kdiag plan --race` on a bench of known figures: what was measured leads, what was slower or wrong does not."""

import pytest

from kdiag.errors import KdiagError, UsageError
from kdiag.loop.compiler import Compiler
from kdiag.loop.raced_plan import bench_for, raced
from plan_cases import SOFTMAX_CAUSES, offer, plan
from text_bench import TextBench

OFFERED = plan(
    *(offer(*each) for each in (("H", "all"), ("H", "exp2"), ("E", "loads=2"), ("F", "stores"), ("C", "hints"))),
    diagnosis=SOFTMAX_CAUSES,
)
MS = {"# H all": 0.9, "# H exp2": 0.5, "# E loads=2": 1.25, "# F stores": None}


def test_what_was_measured_leads_and_what_was_slower_comes_last(tmp_path):
    compiler, bench = Compiler(None, "kernel.py", "sm_90", tmp_path), TextBench(lambda text: MS.get(text.strip(), 1.0))
    found = raced(OFFERED, "parent", compiler, bench)
    can = [(each.optimization, each.variant, round(each.expected_speedup.mid, 2)) for each in found if each.applicable]
    assert can[:2] == [("H", "exp2", 2.0), ("H", "all", 1.11)]
    assert can[-1] == ("E", "loads=2", 0.8)
    assert [each.rank for each in found] == list(range(1, len(OFFERED) + 1))
    wrong = next(each for each in found if each.optimization == "F")
    assert (wrong.applicable, wrong.why_not) == (False, "a check failed, so it was not timed")
    assert found[0].explanation.startswith("Raced on this machine's GPU: 2.000x of its parent in 16 rounds. ")


def test_a_race_that_cannot_be_held_is_said(tmp_path):
    bench = TextBench(lambda _: 1.0, dies=True)
    with pytest.raises(KdiagError, match="an illegal memory access; leave --race out"):
        raced(OFFERED, "parent", Compiler(None, "kernel.py", "sm_90", tmp_path), bench)
    with pytest.raises(UsageError, match="none is beside the kernel; name one with --workload"):
        bench_for(None, "sm_90")
