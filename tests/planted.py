"""Executors that are wrong on purpose: each breaks the softmax in a way that real edits break kernels."""

from kdiag.records import Proposal, Variant

STORE = "ct.scatter(y, (row, columns), ct.astype(result, y.dtype), check_bounds=True)"
WRONG = {
    "drops-tail": (
        STORE,
        "ct.scatter(y, (row, columns), ct.astype(result, y.dtype), mask=columns < y.shape[1] // TILE * TILE)",
    ),
    "writes-zeros": (STORE, STORE.replace("result,", "result * 0.0,")),
    "skips-half": (STORE, STORE.replace("(row, columns)", "(row // 2, columns)")),
    "pads-with-zero": ('padding_value=-float("inf")', "padding_value=0.0"),
    "wrong-scale": ("ct.exp(values - largest)", "ct.exp2(values - largest)"),
    "wrong-row": ("(row, columns), check_bounds=True, padding", "(row ^ 1, columns), check_bounds=True, padding"),
}


def propose(subject, file):
    """The wrong edits as proposals of H, in the form of `kdiag.executors.edits.registry.propose`."""
    del file
    proposals = []
    for name, (old, new) in WRONG.items():
        if old in subject.source:
            edited = subject.source.replace(old, new)
            proposals.append(Proposal(Variant("H", name), f"planted: {name}", "changes-rounding", edited, None, None))
    return tuple(proposals)
