"""`kdiag workload`: what the launch wrapper tells is written, what it does not tell is asked for in one sentence."""

from pathlib import Path

import pytest

from kdiag import cli
from kdiag.workload import Workload, read

KERNEL = """import cuda.tile as ct
import torch

@ct.kernel
def scale(x, out, factor):
    ct.store(out, (0,), ct.load(x, (0,), (16,)) * factor)

def scaled(x: torch.Tensor, factor: float, *, rounds: int = 1):
    out = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (1,), scale, (x, out, factor))
    return out
"""


def test_a_draft_says_what_to_write_and_is_a_workload_once_that_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel, output = tmp_path / "k.py", tmp_path / "bench" / "workload.py"
    kernel.write_text(KERNEL)
    output.parent.mkdir()
    assert cli.run(["workload", str(kernel), "-o", str(output)]) == 0
    assert cli.run(["auto", str(output), "--yes"]) == 1
    assert capsys.readouterr().err.splitlines()[1:] == [
        f"kdiag: {output} is a draft: configs has to say which shapes to time, e.g. "
        "[{'x': (4096, 4096), 'factor': 1, 'dtype': torch.bfloat16}]; "
        "reference has to say what scaled computes, in torch.float64, from inputs['x'], inputs['factor']."
    ]
    assert cli.run(["workload", str(kernel), "-o", str(output)]) == 2
    lines = [line for line in output.read_text().splitlines() if "NotImplementedError" not in line]
    written = (
        "\n".join(lines)
        .replace("configs():", "configs(): return []")
        .replace("reference(inputs):", "reference(inputs): ...")
    )
    output.write_text(written)
    assert read(output) == Workload(output, output.parent / "../k.py", declares_tolerance=False)
    scope: dict[str, object] = {}
    exec(compile(written, str(output), "exec"), scope)
    make_inputs = scope["make_inputs"]
    assert callable(make_inputs)
    import torch

    made = make_inputs({"x": (4, 16), "factor": 2.0, "dtype": torch.float32}, "cpu", 1)
    assert (made["x"].shape, made["factor"]) == ((4, 16), 2.0)
    assert "rounds" not in made


def test_a_file_that_does_not_launch_its_kernel_has_no_draft(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text(KERNEL.partition("def scaled")[0])
    assert cli.run(["workload", str(kernel)]) == 2
    assert "No function of" in capsys.readouterr().err
