"""The launches of TileGym's operators, captured without a GPU."""

import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("torch")

from bundled import TILEGYM, needs_tilegym

SOURCES = TILEGYM / "src"
pytestmark = [pytest.mark.compiler, needs_tilegym]

from kdiag.diagnose.capture.call import CallRequest, launches_of_call
from kdiag.diagnose.source.read import read_source
from tilegym_calls import CALLS


@pytest.fixture(scope="module")
def parameters():
    """By name of a kernel, the parameters it has in the source, for each file that defines one of that name."""
    found = {}
    for path in (SOURCES / "tilegym" / "ops" / "cutile").rglob("*.py"):
        for kernel in read_source(path.read_text("utf-8"), path.name).kernels:
            found.setdefault(kernel.name, set()).add(kernel.parameters)
    return found


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_an_operator_is_captured(call, parameters):
    launches = launches_of_call(CallRequest(call.function, call.arguments, "sm_90", (str(SOURCES),)), timeout_s=120)
    for launch in launches:
        names = dict.fromkeys(argument.name.partition("[")[0] for argument in launch.arguments)
        assert tuple(names) in parameters[launch.kernel]
    tunings = [launch.tuning for launch in launches if launch.tuning is not None]
    assert len(tunings) == call.tuned
    assert all(len(tuning.configurations) == len(tuning.grids) > 1 for tuning in tunings)
