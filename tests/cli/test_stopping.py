"""Signals end a command at any moment by one line and exit code 130."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from efge.cli.stopping import Stopper
from efge.system import preserve_handlers
from helpers import run

# Prints a line when signals are handled, before which nobody but the interpreter can.
STARTED = """
from efge.cli import main
from efge.cli.stopping import Stopper

install = Stopper.install
Stopper.install = lambda stopper: (install(stopper), print(flush=True))
main()
"""


@contextmanager
def installed():
    hook = sys.unraisablehook
    with preserve_handlers():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        stopper = Stopper()
        stopper.install()
        try:
            yield stopper
        finally:
            stopper.finish()
            sys.unraisablehook = hook


def send(number):
    os.kill(os.getpid(), number)


def test_an_interrupt_that_is_lost_in_a_callback_comes_again():
    def lose_it():
        send(signal.SIGINT)
        time.sleep(0.001)

    went_on = []

    def run_on():
        ctypes.CFUNCTYPE(None)(lose_it)()
        went_on.append(True)
        time.sleep(300)

    with installed(), pytest.raises(KeyboardInterrupt):
        run_on()
    assert went_on, "the callback does not lose exceptions: the test shows nothing"


def test_an_interrupt_waits_for_the_end_of_an_import(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_module.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(0.1)\ncomplete = True\n"
    )

    def run_on():
        importlib.import_module("slow_module")
        time.sleep(300)

    with installed(), pytest.raises(KeyboardInterrupt):
        run_on()
    assert sys.modules.pop("slow_module").complete


def test_an_interrupt_waits_for_the_end_of_the_code_of_llvmlite():
    source = "send(signal.SIGINT)\ntime.sleep(0.1)\ncomplete.append(True)\n"
    complete = []

    def run_on():
        exec(compile(source, "site-packages/llvmlite/binding/ffi.py", "exec"), globals() | {"complete": complete})
        time.sleep(300)

    with installed(), pytest.raises(KeyboardInterrupt):
        run_on()
    assert complete


def test_a_second_interrupt_does_not_wait_for_an_import(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    twice = "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.1)\n" * 2
    # If it waited, this test would exceed its time limit.
    (tmp_path / "endless_module.py").write_text(f"import os, signal, time\n{twice}time.sleep(3600)\n")
    with installed(), pytest.raises(KeyboardInterrupt):
        importlib.import_module("endless_module")


def test_after_the_end_of_a_command_signals_change_nothing():
    with installed() as stopper:
        stopper.finish()
        send(signal.SIGINT)
        send(signal.SIGHUP)
    assert not stopper.received


def test_other_errors_that_cannot_be_raised_are_reported_as_before(capsys):
    def fail():
        raise RuntimeError("of a callback")

    with installed():
        # Pytest has a hook of its own.
        seen = []
        sys.unraisablehook.__self__._report_unraisable = seen.append
        ctypes.CFUNCTYPE(None)(fail)()
    assert [str(error.exc_value) for error in seen] == ["of a callback"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_by_one_line(tmp_path, monkeypatch, number):
    monkeypatch.setattr("efge.cli.runs.read_graph", lambda *arguments: send(number))
    done = run("embed", "graph.txt", "-o", "v.npz", cwd=tmp_path)
    assert done == (130, "", "efge: stopped; nothing was written\n")


def test_an_interrupt_that_a_library_turns_into_an_error_is_still_one(tmp_path, monkeypatch):
    def fail(*arguments):
        try:
            send(signal.SIGINT)
            time.sleep(300)
        except KeyboardInterrupt:
            raise ImportError("an extension failed to load") from None

    monkeypatch.setattr("efge.cli.runs.read_graph", fail)
    assert run("embed", "graph.txt", "-o", "v.npz", cwd=tmp_path)[::2] == (130, "efge: stopped; nothing was written\n")


def test_where_no_checkpoint_was_saved_yet_none_is_promised(tmp_path, monkeypatch):
    (tmp_path / "graph.txt").write_text("a b\n")
    monkeypatch.setattr("efge.models.walk_base._train", lambda *arguments: send(signal.SIGTERM))
    done = run("embed", "graph.txt", "-o", "v.npz", "--checkpoint", "checkpoints", cwd=tmp_path)
    assert done[::2] == (130, "efge: stopped; nothing was written, and no checkpoint is in checkpoints yet\n")
    assert not list((tmp_path / "checkpoints").iterdir())


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.5])
def test_an_interrupt_of_a_command_that_still_starts_ends_it_by_one_line(tmp_path, seconds):
    """The interpreter shows 130 as a signal if the interrupt passed through generated code; a shell shows 130."""
    (tmp_path / "graph.txt").write_text("a b\n")
    options = ["--walks-per-node", "100000000", "--quiet"]
    command = [sys.executable, "-c", STARTED, "embed", "graph.txt", "-o", "v.npz", *options]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert message == "efge: stopped; nothing was written\n"
    assert process.returncode in (130, -signal.SIGINT)
