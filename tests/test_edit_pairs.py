"""Two optimizations on one kernel, in both orders: the result is right, stays as it is, or the second is refused in words.

Generated from the registry: every ordered pair of edits on kernels of the pool to which both apply, so that a new edit is
covered as soon as it is registered.
"""

import ast
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import pytest

pytest.importorskip("torch")
pytest.importorskip("cuda.tile")
pytest.importorskip("ml_dtypes")

from edit_pool import POOL, TF32_TOLERANCE, Bench, bench
from kdiag.diagnose.compiler.compile import CompileRequest
from kdiag.diagnose.compiler.job import compile_launches
from kdiag.executors.edits.base import Applied, Edit, Skipped
from kdiag.executors.edits.registry import EDITS
from kdiag.records import CompileFailure, Variant
from kdiag.workload import Workload

pytestmark = pytest.mark.slow

APPLYING = [edit for edit in EDITS if any(example.after for example in edit.examples)]
PAIRS = list(permutations(APPLYING, 2))
KERNELS = 1  # for each pair
named = pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{x.id}-then-{y.id}" for x, y in PAIRS])


@dataclass(frozen=True)
class Step:
    """A variant of an edit and what it made of a subject."""

    edit: Edit
    variant: Variant
    applied: Applied

    @property
    def safe(self):
        return (self.applied.safety or self.edit.safety(self.variant)) == "safe"


@dataclass
class Kernels:
    """What applies to which kernel of the pool."""

    bench: Bench

    @cached_property
    def steps(self):
        """The first variant of each edit that applies to each kernel."""
        return {
            (edit.id, entry.name): step
            for entry in POOL
            for edit in APPLYING
            if (step := first_that_applies(edit, self.bench.subject(entry, entry.source))) is not None
        }

    def both(self, first, second):
        """A few kernels to which both edits apply, others for other pairs."""
        found = [e for e in POOL if {(first.id, e.name), (second.id, e.name)} <= self.steps.keys()]
        start = PAIRS.index((first, second)) % len(found) if found else 0
        return [*found[start:], *found[:start]][:KERNELS]


def first_that_applies(edit, subject):
    for variant in edit.variants(subject):
        outcome = edit.apply(subject, variant)
        if isinstance(outcome, Applied):
            return Step(edit, variant, outcome)
    return None


@pytest.fixture(scope="module")
def kernels():
    with bench() as made:
        yield Kernels(made)


def assert_is_sentence(reason):
    assert len(reason.split()) > 2, reason
    assert "\n" not in reason, reason
    assert "Error" not in reason, reason


def assert_final(step, subject):
    """The same variant does not apply to its own result."""
    again = step.edit.apply(subject, step.variant)
    assert isinstance(again, Skipped), f"{step.edit.id} {step.variant.name} applies again:\n{again}"
    assert_is_sentence(again.reason)


def assert_complete(step, subject):
    """The same variant does not apply once more, but to what the other edit brought within its reach."""
    again = step.edit.apply(subject, step.variant)
    if isinstance(again, Applied):
        assert_final(step, replace(subject, source=again.source))
    else:
        assert_is_sentence(again.reason if isinstance(again, Skipped) else again.error)


def assert_same(before, after, steps):
    assert after.faults <= before.faults
    if all(step.safe for step in steps):
        assert after.same_bits(before)
    rounds = any(step.edit.id == "D" for step in steps)
    assert after.near(before, TF32_TOLERANCE if rounds else 0.0)


@named
def test_one_after_the_other(kernels, first, second):
    pool = kernels.both(first, second)
    if not pool:
        pytest.skip("no kernel of the pool takes both")
    for entry in pool:
        one = kernels.steps[first.id, entry.name]
        subject = kernels.bench.subject(entry, one.applied.source)
        assert_final(one, subject)
        assert_same(kernels.bench.run(entry, entry.source), kernels.bench.run(entry, subject.source), (one,))
        two = first_that_applies(second, subject)
        if two is None:
            outcome = second.apply(subject, kernels.steps[second.id, entry.name].variant)
            assert isinstance(outcome, Skipped), outcome
            assert_is_sentence(outcome.reason)
            continue
        ast.parse(two.applied.source)
        both = kernels.bench.subject(entry, two.applied.source)
        assert_same(kernels.bench.run(entry, entry.source), kernels.bench.run(entry, both.source), (one, two))
        assert_final(two, both)
        assert_complete(one, both)


@pytest.mark.compiler
@named
def test_both_compile(kernels, first, second):
    for entry in kernels.both(first, second)[:1]:
        one = kernels.steps[first.id, entry.name]
        two = first_that_applies(second, kernels.bench.subject(entry, one.applied.source))
        source = one.applied.source if two is None else two.applied.source
        path = kernels.bench.path(entry, source)
        request = CompileRequest(Workload(path, path, False), path, kernels.bench.target)
        compiled = compile_launches(kernels.bench.run(entry, source).launches, request)
        assert not isinstance(compiled, CompileFailure), compiled


def test_the_pool_reaches_every_edit(kernels):
    """An edit that applies to no kernel of the pool is in no pair: give the pool one."""
    assert {edit.id for edit in APPLYING} == {edit for edit, _ in kernels.steps}


def test_what_is_run_is_what_was_written(kernels):
    entry = next(entry for entry in POOL if entry.name == "vector_add")
    wrong = entry.source.replace("check_bounds=True) + ct.gather", "check_bounds=True) - ct.gather")
    assert wrong != entry.source
    before, after = (kernels.bench.run(entry, source) for source in (entry.source, wrong))
    assert not after.near(before, TF32_TOLERANCE)
    with pytest.raises(AssertionError):
        assert_same(before, replace(after, faults=frozenset()), ())
