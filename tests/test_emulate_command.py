"""`kdiag emulate`: what it prints, its JSON and its exit codes, on bundled and on broken workloads."""

import pytest

from bundled import EXAMPLES
from command_lines import as_json, refusal
from kdiag.cli import run
from scaled_vector import KERNEL, WORKLOAD

pytestmark = pytest.mark.compiler


@pytest.fixture
def workload(tmp_path):
    (tmp_path / "scale.py").write_text(KERNEL)
    (tmp_path / "workload.py").write_text(WORKLOAD)
    return tmp_path


def broken(workload, old, new, file="scale.py"):
    source = workload / file
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    return workload


def test_an_example_is_right(capsys):
    found = as_json(capsys, "emulate", str(EXAMPLES / "softmax"), "--shuffle", "--seed", "3")
    assert found["schema"] == "kdiag.emulate/1"
    assert found["passed"]
    assert [row["launches"] for row in found["configurations"]] == [1, 1, 1]
    assert all(row["correct"] and row["error"] <= row["tolerance"] for row in found["configurations"])


def test_a_tail_that_no_block_writes(workload, capsys):
    assert run(["emulate", str(broken(workload, "-(-x.numel() // 32)", "x.numel() // 32"))]) == 1
    out = capsys.readouterr().out
    assert "fault: unwritten: 4 of 100 elements are never written" in out
    assert f"{workload / 'scale.py'}:8:5" in out.replace("\n", "")
    assert out.count("right") == 1
    assert "worst at [96]" in out


def test_faults_as_json(workload, capsys):
    racing = str(broken(workload, "(y, (i,)", "(y, (0,)"))
    (row,) = as_json(capsys, "emulate", racing, "--configuration", "0", code=1)["configurations"]
    assert not row["correct"]
    assert {fault["kind"]: fault["warning"] for fault in row["faults"]} == {"race": False, "unwritten": False}
    race = next(fault for fault in row["faults"] if fault["kind"] == "race")
    assert (race["line"], race["array"], race["element"]) == (8, "y", [0])
    assert race["text"].startswith("block (0, 0, 0) and block (1, 0, 0) write different values")


def test_a_rule_of_cutile(workload, capsys):
    assert run(["emulate", str(broken(workload, "(x, y, 32)", "(x, y, 24)"))]) == 1
    assert "type-rule" in capsys.readouterr().out


def test_one_after_the_other_and_all(workload, capsys):
    assert len(as_json(capsys, "emulate", str(workload), "--one-by-one", "--all")["configurations"]) == 2


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--configuration", "2"], 2, "configurations 0 to 1"),
        (["--configuration", "0", "--all"], 2, "exclude each other"),
        (["--seed", "3"], 2, "add --shuffle"),
        (["--target", "sm_1"], 2, "'sm_1' is not one of"),
    ],
)
def test_options_that_cannot_be(workload, capsys, options, code, sentence):
    refusal(capsys, ["emulate", str(workload), *options], code, sentence)


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        ("scale.py", "def scale(x):", "def scale(x:", "SyntaxError"),
        ("workload.py", '[{"n": 64}, {"n": 100}]', "[]", "has no configuration"),
        ("workload.py", '[{"n": 64}, {"n": 100}]', "1 / 0", "division by zero (workload.py:6)"),
    ],
)
def test_a_workload_that_cannot_be_read(workload, capsys, file, old, new, sentence):
    assert run(["emulate", str(broken(workload, old, new, file))]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.strip().splitlines()) == 1


def test_a_plan_refuses_a_named_workload_that_fails(workload, capsys):
    broken(workload, '[{"n": 64}, {"n": 100}]', "1 / 0", "workload.py")
    for named in ([str(workload / "scale.py"), "--workload"], []):
        assert run(["plan", *named, str(workload)]) == 1
        assert "division by zero (workload.py:6)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("    ct.launch(", "    (lambda *_: None)(", "launches no cuTile kernel"),
        ("    return y", "    return 3", "must return a tensor"),
        ("    return y", "    return y[:-1]", "its shape is (63,) where (64,) is expected"),
        ("    return y", "    raise ValueError('no luck')", "ValueError: no luck (scale.py:14)"),
        ("    return y", "    import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("(-(-x.numel() // 32),", "(0,", "grid (0, 1, 1)"),
    ],
)
def test_a_run_that_fails_is_told_of_its_configuration(workload, capsys, old, new, sentence):
    guarded = new if new.startswith(("    (", "(0")) else f"    if x.numel() == 64:\n    {new}\n    return y"
    first, second = as_json(capsys, "emulate", str(broken(workload, old, guarded)), code=1)["configurations"]
    assert sentence in first["reason"]
    assert not first["correct"]
    assert second["correct"] == (guarded != new)


def test_a_wrong_result_says_where(workload, capsys):
    first, _ = as_json(capsys, "emulate", str(broken(workload, ") * 2", ") * 3")), code=1)["configurations"]
    assert "worst at [" in first["reason"]
    assert "64 of 64 elements are wrong" in first["reason"]
