"""The stages of the check, on the CPU: what each notices, and that the unedited kernel decides what is asked."""

from types import ModuleType

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cuda.tile")

from kdiag.errors import WorkloadError
from kdiag.executors.correctness.configurations import edge_shapes, other_dtypes
from kdiag.executors.correctness.controls import prove
from kdiag.executors.correctness.stages import beyond, required, run, survey
from kdiag.executors.correctness.subject import Subject
from kdiag.records import STAGES, ConfigurationCheck, NotEvaluated


def right(x):
    return torch.empty_like(x).copy_(torch.softmax(x.float(), dim=1))


def module(kernel):
    made = ModuleType("kernel")
    made.softmax = kernel
    return made


@pytest.fixture
def subject():
    def make_inputs(config, device, seed):
        x = torch.randn((config["rows"], config["columns"]), generator=torch.Generator(device).manual_seed(seed))
        return {"x": x.to(getattr(torch, config["dtype"])), "unused": torch.ones(4)}

    torch.set_num_threads(1)
    made = ModuleType("workload")
    made.__dict__.update(
        configs=lambda: [{"rows": 16, "columns": 128, "dtype": "bfloat16"}],
        edge_configs=lambda: [{"rows": 3, "columns": 65, "dtype": "bfloat16"}],
        make_inputs=make_inputs,
        run=lambda module, inputs: module.softmax(inputs["x"]),
        reference=lambda inputs: torch.softmax(inputs["x"].double(), dim=1),
        bytes_moved=lambda config: 4 * config["rows"] * config["columns"],
        flops=lambda config: 5 * config["rows"] * config["columns"],
    )
    return Subject(made, "cpu")


def refusal(subject, wrong, parent=right):
    """The check that a candidate does not pass of those that its parent does."""
    passed = {
        one.configuration for one in survey(beyond(subject), module(parent)) if isinstance(one, ConfigurationCheck)
    }
    cases = [*required(subject, module(parent)), *(case for case in beyond(subject) if case.name in passed)]
    checks = run(cases, module(wrong))
    return None if checks[-1].passed else checks[-1]


def test_a_right_kernel_passes_every_stage(subject):
    checks = run([*required(subject, module(right)), *beyond(subject)], module(right))
    assert all(check.passed for check in checks)
    assert {check.stage for check in checks} == set(STAGES)


def beyond_the_end(x):
    end = x.storage_offset() + x.numel()
    room = x.untyped_storage().nbytes() // x.dtype.itemsize > end
    return right(x) + (x.as_strided((1,), (1,), end) if room else 0)


@pytest.mark.parametrize(
    ("wrong", "stage", "where"),
    [
        (lambda x: (right(x), x.zero_())[0], "basic", "rows=16"),
        (lambda x: right(x) * (x.shape[1] % 2 == 0), "edge shapes", "columns=65"),
        (lambda x: right(x) / ((x != x[:, :1]).any() or (x == 0).all()), "stress", "constant rows"),
        (lambda x: torch.exp(x.float()).div(torch.exp(x.float()).sum(1, keepdim=True)).to(x.dtype), "stress", "large"),
        (lambda x: right(x) * (1 + ((x != 0) & (x.abs() < 1e-38)).any()), "stress", "denormals"),
        (beyond_the_end, "stress", "poison beside"),
        (lambda x: right(x) * (x.shape[0] in (1, 3, 16)), "edge shapes", "rows=13"),
        (lambda x: right(x) if x.shape[1] < 200 else right(x[:, :200]), "edge shapes", "columns=385"),
        (lambda x: right(x.to(torch.bfloat16).float()).to(x.dtype), "dtypes", "dtype=float32"),
    ],
)  # fmt: skip
def test_what_each_stage_notices(subject, wrong, stage, where):
    check = refusal(subject, wrong)
    assert check is not None
    assert check.stage == stage
    assert where in check.configuration


def test_chance_and_state_are_noticed(subject):
    subject.workload.__dict__["tolerance"] = lambda _: 3e-2
    generator, count = torch.Generator().manual_seed(1), iter(range(10**6))

    def noisy(x):
        return right(x) * (1 + 1e-2 * torch.rand(x.shape, generator=generator))

    check = refusal(subject, noisy)
    assert check is not None
    assert check.reason == "two runs on the same inputs differ"
    assert refusal(subject, noisy, noisy) is None  # its parent is no better
    check = refusal(subject, lambda x: right(x) * (next(count) < 20))
    assert check is not None
    assert "runs in a row" in check.configuration


def test_what_the_unedited_kernel_cannot_do_is_not_asked(subject):
    def picky(x):
        if x.dtype != torch.bfloat16 or x.shape[0] not in (3, 16):
            raise ValueError("rows must fill the tile")
        return right(x)

    out = [one for one in survey(beyond(subject), module(picky)) if isinstance(one, NotEvaluated)]
    assert {one.stage for one in out} == {"edge shapes", "dtypes"}
    assert out[0].reason == "ValueError: rows must fill the tile"
    assert refusal(subject, picky, picky) is None


def test_a_check_that_does_not_look_at_the_inputs_is_refused(subject):
    (config,) = subject.workload.configs()
    prove(subject, module(right), config)
    constant = torch.randn((16, 128), dtype=torch.float64)
    subject.workload.__dict__["reference"] = lambda _: constant
    with pytest.raises(WorkloadError, match="does not notice when an input changes"):
        prove(subject, module(lambda x: constant.to(x.dtype)), config)


def test_derived_configurations():
    configs = [{"m": 4096, "heads": 8, "dtype": "bfloat16"}, {"m": 8192, "heads": 8, "dtype": "float16"}]
    assert list(other_dtypes(configs)) == [{"m": 4096, "heads": 8, "dtype": "float32"}]
    assert [(shape["m"], shape["heads"]) for shape in edge_shapes(configs)] == [
        *((997, 7), (4095, 7), (1, 7), (8449, 7)),
        *((997, 1), (997, 265)),
    ]
    assert list(edge_shapes([{"dtype": "float32", "causal": True}])) == []
