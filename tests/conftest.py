"""Fixtures of all tests, and reproducible runs of hypothesis."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from efge.system import STOP_SIGNALS

settings.register_profile(
    "efge",
    derandomize=True,
    deadline=None,
    max_examples=40,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("efge")

# Whoever runs the tests in the background, or with nohup, ignores signals that tests send to the processes they start;
# these would inherit that.
for number in STOP_SIGNALS:
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.fixture
def write(tmp_path):
    """A function that writes a file of text or bytes and returns its path."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture(scope="session")
def networks():
    """The folder of the paper's networks."""
    configured = os.environ.get("EFGE_DATA")
    folder = Path(configured) if configured else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the paper's networks are not in {folder}; set EFGE_DATA to their folder")
    return folder
