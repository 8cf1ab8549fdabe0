"""Reports that were recorded on an H200, and other people's. They lie beside the repository: elsewhere their tests are skipped."""

from pathlib import Path

import pytest

from kdiag.diagnose.report.read import read_launches
from kdiag.errors import ReportError

DATA = Path(__file__).parents[2] / "shared" / "data"
LEAN = DATA / "h200" / "give-lean.ncu-rep"
REPORTS = [path for path in sorted(DATA.glob("*/*")) if path.name.endswith(("-rep", "-report"))]
needs_data = pytest.mark.skipif(not LEAN.exists(), reason="the recorded reports are not on this machine")
each_report = pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name[:40])


def launches_of(path):
    """What a report holds; the test is skipped where nothing was recorded."""
    pytest.importorskip("ncu_report")
    try:
        return read_launches(path)
    except ReportError:
        pytest.skip("nothing was recorded")
