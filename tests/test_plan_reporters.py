"""A plan as text and as JSON."""

import io
import json

from rich.console import Console

from kdiag.reporters import json_plan, terminal_plan
from plan_cases import SOFTMAX, SOFTMAX_CAUSES, plan


def test_the_plan_is_printed_with_what_cannot_be_done_below():
    suggestions = plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES)
    console = Console(file=io.StringIO(), width=160)
    terminal_plan.render(suggestions, "softmax", "sm_90", console, verbose=False)
    text = console.file.getvalue()
    assert "and 1 more" in text
    assert text.index("Not applicable") > text.index("fast math" if "fast math" in text else "H with all")
    assert text.count("no executor yet") >= 7
    assert "kernel.py:10" in text
    assert "+y" in text
    console = Console(file=io.StringIO(), width=160)
    terminal_plan.render(suggestions, "softmax", "sm_90", console, verbose=True)
    assert "and 1 more" not in console.file.getvalue()


def test_json_has_the_published_schema():
    answer = json_plan.to_json(plan(*SOFTMAX, diagnosis=SOFTMAX_CAUSES), "softmax", "sm_90")
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    assert list(answer) == ["schema", "kernel", "target", "suggestions"]
    assert answer["schema"] == "kdiag.plan/1"
    first = answer["suggestions"][0]
    assert " ".join(first) == (
        "rank optimization variant title cause expected_speedup confidence safety applicable why_not where evidence "
        "explanation diff"
    )
    assert first["where"] == {"file": "kernel.py", "line": 10, "column": 4}
    assert set(first["expected_speedup"]) == {"low", "mid", "high"}
