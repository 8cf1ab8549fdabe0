"""The commit message of a kept edit."""

from kdiag.records import Iteration, Suggestion


def commit_message(row: Iteration, suggestion: Suggestion) -> str:
    """What was changed and why, how much it gained in each configuration, and the gates it passed.

    A pair of optimizations says why it was tried as one.
    """
    lines = [f"{row.optimization} {row.variant}: {row.title}", "", f"Cause: {suggestion.cause}. {row.reason}.", ""]
    if row.paired:
        lines += [row.paired, ""]
    if row.prediction is not None and row.prediction.outcome != "not-evaluated":
        lines += [f"Prediction {row.prediction.text}.", ""]
    lines += [
        f"{timing.configuration}: {timing.parent_ms:.6f} ms -> {timing.candidate_ms:.6f} ms, "
        f"{timing.speedup:.3f}x [{timing.low:.3f}, {timing.high:.3f}], A/A floor {timing.noise_floor:.2%}"
        for timing in row.timings
    ]
    lines += [f"{gate.gate}: {gate.outcome} {gate.reason}".rstrip() for gate in row.gates]
    return "\n".join(lines)
