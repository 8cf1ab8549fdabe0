"""Options of the test suite, and a cache of its own for compilations."""

import os
import tempfile

import pytest
from hypothesis import settings

# How long an example takes is the machine's business: a busy one must not fail a property.
settings.register_profile("kdiag", deadline=None)
settings.load_profile("kdiag")

# Before any test starts the fork server, whose children inherit it; workers of pytest-xdist share the first one's.
os.environ.setdefault("KDIAG_CACHE_DIR", tempfile.mkdtemp(prefix="kdiag-tests-"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-runs", default="", help="folder for what GPU tests measure, to be replayed without one"
    )
