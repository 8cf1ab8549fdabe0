"""`if condition: return` at the top of a kernel, as a condition on all that follows."""

from collections.abc import Sequence

import libcst as cst

from ..syntax.kernel_source import nodes
from ..syntax.kernel_view import code


def early_returns(statements: Sequence[cst.BaseStatement]) -> list[cst.Return]:
    """The returns that `guarded` takes away."""
    guards = [line for line in statements[:-1] if _is_guard(line)]
    return [found for guard in guards for found in nodes(guard, cst.Return)]


def guarded(statements: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements with what follows an early return inside the opposite condition."""
    for number, line in enumerate(statements[:-1]):
        if _is_guard(line):
            guard = cst.ensure_type(line, cst.If)
            test = cst.parse_expression(f"not ({code(guard.test)})")  # no opposite: a NaN is neither
            body = cst.IndentedBlock(body=guarded(statements[number + 1 :]))
            return [*statements[:number], guard.with_changes(test=test, body=body)]
    return list(statements)


def _is_guard(line: cst.BaseStatement) -> bool:
    """Whether it is `if condition: return` with nothing else to it, comments included."""
    if not isinstance(line, cst.If) or line.orelse is not None or "#" in code(line.body):
        return False
    inner = line.body.body[0] if len(line.body.body) == 1 else None
    if isinstance(inner, cst.SimpleStatementLine):
        inner = inner.body[0] if len(inner.body) == 1 else None
    return isinstance(inner, cst.Return) and inner.value is None
