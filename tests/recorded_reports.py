"""Reports that were recorded on an H200, and other people's. They lie beside the repository: elsewhere their tests are skipped."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "shared" / "data"
LEAN = DATA / "h200" / "give-lean.ncu-rep"
REPORTS = [path for path in sorted(DATA.glob("*/*")) if path.name.endswith(("-rep", "-report"))]
needs_data = pytest.mark.skipif(not LEAN.exists(), reason="the recorded reports are not on this machine")
