"""Options of the test suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-runs", default="", help="folder for what GPU tests measure, to be replayed without one"
    )
