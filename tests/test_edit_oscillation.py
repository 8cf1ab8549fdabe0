"""Edits that undo each other: no sequence comes back to a text that was tried, none makes the text grow, and each ends.

What a run remembers is modelled as the loop keeps it: which variants were tried, and what the machine code of every
candidate was. Here the text stands for the machine code: the same text compiles to the same code.
"""

import ast
from dataclasses import dataclass, field, replace
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdiag.executors.edits.base import Applied, Edit, Subject
from kdiag.executors.edits.registry import EDITS
from kdiag.records import Variant
from kdiag.workload import source_hash

pytestmark = pytest.mark.slow

EXAMPLES = [(edit, example) for edit in EDITS for example in edit.examples if example.after is not None]
SUBJECTS = [example.subject for _, example in EXAMPLES]
APPLYING = [edit for edit in EDITS if any(own is edit for own, _ in EXAMPLES)]  # not what is only written down
PAIRS = list(combinations(APPLYING, 2))
ROUNDS = 3
MOST_EXAMPLES = 2  # of an edit
ROOM = 4000  # characters that a host guard or a copied helper may add, once
FEW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def texts(subject: Subject, steps: list[tuple[Edit, Variant]]) -> list[str]:
    """The text after each step; a refused step leaves it as it is."""
    found = [subject.source]
    for edit, variant in steps:
        outcome = edit.apply(replace(subject, source=found[-1]), variant)
        found.append(outcome.source if isinstance(outcome, Applied) else found[-1])
    return found


def applicable(edit: Edit, subject: Subject) -> list[Variant]:
    """The first and the last variant that apply."""
    offered = edit.variants(subject)
    ends = (_first(edit, subject, offered), _first(edit, subject, offered[::-1]))
    return list({variant.name: variant for variant in ends if variant is not None}.values())


def _first(edit: Edit, subject: Subject, offered: tuple[Variant, ...]) -> Variant | None:
    return next((v for v in offered if isinstance(edit.apply(subject, v), Applied)), None)


def assert_settles(subject: Subject, steps: list[tuple[Edit, Variant]]):
    """Repeating the steps comes to a cycle of the first rounds' texts and stays in it."""
    found = texts(subject, steps * ROUNDS)
    settled = found[: 2 * len(steps) + 1]
    assert set(found) <= set(settled), f"the text is still new after two rounds:\n{found[-1]}"
    assert max(map(len, found)) <= len(subject.source) + len(steps) * ROOM


@pytest.mark.parametrize("edit", APPLYING, ids=[edit.id for edit in APPLYING])
def test_the_variants_of_one_edit_in_turn_settle(edit: Edit):
    """Such as A and its inverse, B and its inverse, C tuned and frozen."""
    for subject in [example.subject for own, example in EXAMPLES if own is edit][:MOST_EXAMPLES]:
        for variant in applicable(edit, subject):
            once = edit.apply(subject, variant)
            assert isinstance(once, Applied)
            for back in applicable(edit, replace(subject, source=once.source)):
                assert_settles(subject, [(edit, variant), (edit, back)])


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[f"{x.id}-and-{y.id}" for x, y in PAIRS])
def test_two_edits_in_turn_settle(number: int):
    first, second = PAIRS[number] if number % 2 else PAIRS[number][::-1]
    own = [example.subject for edit, example in EXAMPLES if edit is first]
    subject = own[number % len(own)]
    for variant in applicable(first, subject)[:1]:
        once = first.apply(subject, variant)
        assert isinstance(once, Applied)
        for other in applicable(second, replace(subject, source=once.source))[:1]:
            assert_settles(subject, [(first, variant), (second, other)])


@dataclass
class Walk:
    """A run that keeps whatever it has not tried."""

    subject: Subject
    tried: set[tuple[str, str]] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)

    def step(self, edit: Edit, choice: int):
        """Try one of the variants that are still open."""
        open_ones = [v for v in edit.variants(self.subject) if (edit.id, v.name) not in self.tried]
        if not open_ones:
            return
        variant = open_ones[choice % len(open_ones)]
        outcome = edit.apply(self.subject, variant)
        if not isinstance(outcome, Applied):
            return
        self.tried.add((edit.id, variant.name))
        code = source_hash(outcome.source)
        if code not in self.seen:
            self.seen.add(code)
            self.kept.append(outcome.source)
            self.subject = replace(self.subject, source=outcome.source)


@FEW
@given(
    subject=st.sampled_from(SUBJECTS),
    choices=st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 20)), min_size=3, max_size=12),
)
def test_no_sequence_visits_a_text_twice(subject: Subject, choices: list[tuple[Edit, int]]):
    walk = Walk(subject, seen={source_hash(subject.source)}, kept=[subject.source])
    for edit, choice in choices:
        walk.step(edit, choice)
    assert len(set(walk.kept)) == len(walk.kept)
    used = {optimization for optimization, _ in walk.tried}
    for text in walk.kept:
        ast.parse(text)
        assert len(text) <= len(subject.source) + (1 + len(used)) * ROOM


@FEW
@given(subject=st.sampled_from(SUBJECTS), choices=st.lists(st.integers(0, 10_000), min_size=30, max_size=30))
def test_a_run_of_one_edit_ends(subject: Subject, choices: list[int]):
    """Variants are named by what they set and not by where they start, so there are finitely many."""
    edit = EDITS[choices[0] % len(EDITS)]
    walk = Walk(subject, seen={source_hash(subject.source)})
    for choice in choices:
        before = len(walk.tried)
        walk.step(edit, choice)
        if len(walk.tried) == before:
            break
    assert len(walk.tried) < len(choices)
