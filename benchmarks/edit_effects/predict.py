"""What the gates without a GPU say of each optimization alone, before anything is timed.

    python benchmarks/edit_effects/predict.py PREDICTED.json [--only NAME ...] [--variants N] [--target SM]

For every workload below this folder and in `examples/`, the first variants of each optimization that apply are compiled
and emulated. `measure.py` times those that no gate stopped; `table.py` puts both side by side.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from kdiag import workload as workloads
from kdiag.executors.edits.base import Subject
from kdiag.executors.edits.registry import propose
from kdiag.executors.gates.scope import Protected, scope
from kdiag.loop.compiler import Compiler, launches_of, of_kernel
from kdiag.loop.emulator import Emulator
from kdiag.loop.findings import choose_kernel
from kdiag.loop.inspection import Pair, inspect
from kdiag.records import Proposal
from kdiag.workload import Workload

ROOT = Path(__file__).parents[2]
EXAMPLES = ("softmax", "rms_norm", "matmul_bf16", "matmul_fp32", "vector_add")


@dataclass(frozen=True)
class Kernel:
    """One workload: its folder relative to the repository, the kernel in its file, and what runs candidates of it."""

    folder: str
    kernel: str
    source: str
    emulator: Emulator


def kernels(scratch: Path, target: str, only: list[str]) -> Iterator[Kernel]:
    """The workloads, those of the examples first."""
    folders = [ROOT / "examples" / name for name in EXAMPLES]
    folders += sorted(path.parent for path in Path(__file__).parent.glob("*/workload.py"))
    for folder in folders:
        found = workloads.read(folder)
        assert isinstance(found, Workload)
        if not only or folder.name in only:
            source = workloads.read_source(found.kernel_file)
            compiler = Compiler(found, found.kernel_file.name, target, scratch / folder.name)
            name = choose_kernel(source, folder.name, None)
            yield Kernel(str(folder.relative_to(ROOT)), name, source, Emulator(compiler))


def chosen(kernel: Kernel, variants: int) -> Iterator[Proposal]:
    """The first applicable proposals of each optimization."""
    compiler = kernel.emulator.compiler
    parent = of_kernel(compiler.compile_one(kernel.source), kernel.kernel)
    launches = launches_of(parent)
    taken: dict[str, int] = {}
    for proposal in propose(Subject(kernel.source, kernel.kernel, compiler.target, launches), compiler.file_name):
        optimization = proposal.variant.optimization
        if proposal.source is not None and taken.get(optimization, 0) < variants:
            taken[optimization] = taken.get(optimization, 0) + 1
            yield proposal


def predicted(kernel: Kernel, proposal: Proposal) -> dict[str, object]:
    """One row: the candidate and what each gate says of it."""
    assert proposal.source is not None
    pair = Pair(kernel.source, proposal.source, proposal.promises, exact=proposal.safety == "safe")
    gates = inspect(pair, kernel.kernel, kernel.emulator, lambda: scope(Protected()))
    return {
        "workload": kernel.folder,
        "optimization": proposal.variant.optimization,
        "variant": proposal.variant.name,
        "safety": proposal.safety,
        "promises": [promise.text for promise in proposal.promises],
        "gates": [asdict(record) for record in gates],
        "source": proposal.source,
    }


def main() -> None:
    """Write one JSON list of rows, and print a line for each as it comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--variants", type=int, default=3)
    parser.add_argument("--target", default="sm_90")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="kdiag-effects-") as scratch:
        for kernel in kernels(Path(scratch), options.target, options.only):
            for proposal in chosen(kernel, options.variants):
                rows.append(predicted(kernel, proposal))
                gates = rows[-1]["gates"]
                assert isinstance(gates, list)
                last = gates[-1]
                name = f"{kernel.folder} {proposal.variant.optimization} {proposal.variant.name}"
                print(f"{name}: {last['gate']} {last['outcome']}: {last['reason']}", flush=True)
                options.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
