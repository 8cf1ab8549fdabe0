"""Edits that undo each other come to a cycle of few texts and stay in it, and none makes the text grow."""

from dataclasses import replace
from itertools import combinations

import pytest

from kdiag.executors.edits.base import Applied
from kdiag.executors.edits.registry import EDITS

pytestmark = pytest.mark.slow

EXAMPLES = [(edit, example) for edit in EDITS for example in edit.examples if example.after is not None]
APPLYING = [edit for edit in EDITS if any(own is edit for own, _ in EXAMPLES)]  # not what is only written down
PAIRS = list(combinations(APPLYING, 2))
ROUNDS = 3
MOST_EXAMPLES = 2  # of an edit
ROOM = 4000  # characters that a host guard or a copied helper may add, once


def texts(subject, steps):
    """The text after each step; a refused step leaves it as it is."""
    found = [subject.source]
    for edit, variant in steps:
        outcome = edit.apply(replace(subject, source=found[-1]), variant)
        found.append(outcome.source if isinstance(outcome, Applied) else found[-1])
    return found


def applicable(edit, subject):
    """The first and the last variant that apply."""
    offered = edit.variants(subject)
    ends = (_first(edit, subject, offered), _first(edit, subject, offered[::-1]))
    return list({variant.name: variant for variant in ends if variant is not None}.values())


def _first(edit, subject, offered):
    return next((v for v in offered if isinstance(edit.apply(subject, v), Applied)), None)


def assert_settles(subject, steps):
    """Repeating the steps comes to a cycle of the first rounds' texts and stays in it."""
    found = texts(subject, steps * ROUNDS)
    settled = found[: 2 * len(steps) + 1]
    assert set(found) <= set(settled), f"the text is still new after two rounds:\n{found[-1]}"
    assert max(map(len, found)) <= len(subject.source) + len(steps) * ROOM


@pytest.mark.parametrize("edit", APPLYING, ids=[edit.id for edit in APPLYING])
def test_the_variants_of_one_edit_in_turn_settle(edit):
    """Such as A and its inverse, B and its inverse, C tuned and frozen."""
    for subject in [example.subject for own, example in EXAMPLES if own is edit][:MOST_EXAMPLES]:
        for variant in applicable(edit, subject):
            once = edit.apply(subject, variant)
            for back in applicable(edit, replace(subject, source=once.source)):
                assert_settles(subject, [(edit, variant), (edit, back)])


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[f"{x.id}-and-{y.id}" for x, y in PAIRS])
def test_two_edits_in_turn_settle(number):
    first, second = PAIRS[number] if number % 2 else PAIRS[number][::-1]
    own = [example.subject for edit, example in EXAMPLES if edit is first]
    subject = own[number % len(own)]
    for variant in applicable(first, subject)[:1]:
        once = first.apply(subject, variant)
        for other in applicable(second, replace(subject, source=once.source))[:1]:
            assert_settles(subject, [(first, variant), (second, other)])
