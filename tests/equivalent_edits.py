"""Edits of `wrong_edits` that are not wrong: what each of them leaves as it is, whatever the input.

None is listed for being hard to see. Where the machine code stays the same the no-op gate knows them; these change it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """Edits of some kernels by one operator whose replaced text contains `before` and whose new text contains `after`."""

    kernels: tuple[str, ...]
    operator: str
    before: str
    after: str
    reason: str


MASKED = "a block more touches nothing: every access of it is masked or checked"
CLIPPED = "what is loaded from beyond the array is only stored beyond the array, where the store drops it"
LARGER = "a larger tile holds the same elements and more padding"

EQUIVALENT = (
    Equivalent(
        ("softmax", "rms_norm", "vector_add", "residual_in_place", "rope", "paged_gather", "stencil"),
        "grid too large", "", "+ 1", MASKED,
    ),
    Equivalent(("softmax", "rms_norm", "persistent_softmax"), "stale tile", "tile", "* 2", LARGER),
    Equivalent(("softmax", "rms_norm", "persistent_softmax"), "operator", "columns - 1", "columns + 1", LARGER),
    Equivalent(
        ("vector_add", "residual_in_place", "stencil"), "stale tile", "TILE", "* 2",
        "blocks of twice the size: the first half of them does everything, the others are masked",
    ),
    Equivalent(
        ("matmul_bf16", "matmul_fp32", "swizzled_matmul"), "stale tile", "TILE_K", "TILE_K",
        "another tile along K: the same sum, in other steps",
    ),
    Equivalent(("swizzled_matmul",), "stale tile", "GROUP", "GROUP", "any height of a group visits every tile once"),
    Equivalent(("persistent_softmax",), "grid too small", "BLOCKS", "", "any number of blocks takes every row"),
    Equivalent(("persistent_softmax",), "grid too large", "BLOCKS", "", "any number of blocks takes every row"),
    Equivalent(("transpose", "nearest"), "padding changed", "ZERO", "", CLIPPED),
    Equivalent(("attention",), "padding changed", "ZERO", "NEG_INF", "scores of padded queries and keys are replaced or dropped"),
    Equivalent(("layer_norm",), "padding changed", "ZERO", "", "the second pass masks what is padded, the third drops it"),
    Equivalent(("layer_norm",), "operands swapped", "values - mean", "mean - values", "the difference is squared"),
    Equivalent(("nearest",), "operands swapped", "mine", "theirs", "the absolute value of the difference is taken"),
    Equivalent(("attention",), "constant", "1e30", "5e+29", "both are below every score"),
    Equivalent(
        ("attention",), "function", "ct.zeros", "ct.ones",
        "the initial sum is scaled by exp(-1e30), which is zero; a constant added to all scores changes no softmax",
    ),
    Equivalent(("attention",), "comparison", "columns < keys", "", "keys beyond the last are hidden by the diagonal"),
    Equivalent(("attention",), "bound off by one", "keys", "+ 1", "keys beyond the last are hidden by the diagonal"),
    Equivalent(("paged_gather",), "bounds unchecked", "True", "False", "every position and column lies inside"),
    Equivalent(("residual_in_place",), "bounds unchecked", "False", "True", "the mask keeps every index inside"),
    Equivalent(("row_extremes",), "counted twice", "ct.maximum", "", "a maximum taken twice is the same maximum"),
    *(
        Equivalent(("stencil",), operator, before, after, "the access checks its bounds itself, and pads with the same zero")
        for operator, before, after in (
            ("mask removed", "here", "None"), ("comparison", "here", ""), ("bound off by one", "0", "- 1"),
            ("bound off by one", "n", "+ 1"), ("operator", "here + 1", "here - 1"),
        )
    ),
)  # fmt: skip


def why_equivalent(edit):
    """Why an edit is not wrong, "" if it is."""
    for one in EQUIVALENT:
        mine = edit.kernel in one.kernels and edit.operator == one.operator
        if mine and one.before in edit.before and one.after in edit.after:
            return one.reason
    return ""
