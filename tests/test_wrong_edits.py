"""The gates let no wrong edit pass, and no right one fail: hundreds of planted mistakes in seventeen kernels."""

from collections import Counter

import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("torch")
pytestmark = pytest.mark.compiler

from equivalent_edits import EQUIVALENT, why_equivalent
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.registry import EDITS, offers
from kdiag.loop.findings import choose_kernel
from wrong_edits import FOLDERS, WrongEdit, drawn, kernel_file, wrong_edits
from wrong_edits_judge import judges, no_ops

EACH = 16  # of a kernel's wrong edits; benchmarks/wrong_edits.py tries all
CAUGHT = 0.99
RIGHT_EACH = 1  # variants of an optimization


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    with judges(tmp_path_factory.mktemp("wrong")) as made:
        yield made


def test_the_kernels_are_right_and_without_a_fault(judged):
    for judge in judged.values():
        plain = [ran for case, ran in judge.parent.items() if not case.perturbation]
        assert all(ran.check.passed and not ran.faults for ran in plain), judge.kernel


def test_wrong_edits_are_caught(judged):
    gates = Counter()
    escaped = []
    for kernel, judge in judged.items():
        edits = drawn(kernel, EACH)
        survivors = [edit for edit in edits if judge.emulation(edit, exact=True).outcome != "failed"]
        records = no_ops(judge, survivors) if survivors else []
        gates["emulation"] += len(edits) - len(survivors)
        for edit, record in zip(survivors, records, strict=True):
            if record.outcome == "failed":
                gates["no-op"] += 1
            elif why_equivalent(edit):
                gates["equivalent"] += 1
            else:
                escaped.append(edit)
    wrong = gates["emulation"] + len(escaped)
    print(dict(gates), *escaped, sep="\n")  # noqa: T201 - shown by pytest -s
    assert wrong >= 200
    assert gates["emulation"] / wrong >= CAUGHT, "\n".join(map(str, escaped))


def test_right_edits_pass(judged):
    """Every edit's own variants; hints, which change no result, once."""
    refused = []
    for kernel, judge in judged.items():
        subject = Subject(judge.source, choose_kernel(judge.source, "kernel.py", None))
        for edit in EDITS:
            made = [one for one in offers(edit, subject, "kernel.py") if one.source is not None]
            for one in made[: 1 if edit.id == "hints" else RIGHT_EACH]:
                name = f"{one.variant.optimization} {one.variant.name}"
                candidate = WrongEdit(kernel, name, 1, "", "", one.source)
                record = judge.emulation(candidate, exact=one.safety == "safe")
                if record.outcome != "passed":
                    refused.append(f"{kernel} {name}: {record.reason}")
    assert not refused, "\n".join(refused)


def test_the_wrong_edits_are_many_and_of_many_kinds():
    every = [edit for kernel in FOLDERS for edit in wrong_edits(kernel)]
    assert len({edit.source for edit in every}) == len(every) > 800
    assert len({edit.operator for edit in every}) >= 30
    assert drawn("softmax", 12) == drawn("softmax", 12) != drawn("softmax", 12, seed=2)


def test_every_equivalent_edit_is_there():
    for one in EQUIVALENT:
        for kernel in one.kernels:
            assert kernel_file(kernel).is_file()
            assert any(why_equivalent(edit) == one.reason for edit in wrong_edits(kernel)), (kernel, one)
