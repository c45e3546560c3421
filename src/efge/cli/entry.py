"""The entry point: from the first import to the end, a signal to stop ends a command by one line and exit code 130.

This module imports next to nothing: what happens before it is in the interpreter's hands.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; signals are left handled, because the process ends with it."""
    stopper, early = None, []
    try:
        import signal

        # Until signals are handled properly, they are noted only.
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, lambda number, frame: early.append(number))
        from efge.cli.stopping import Stopper

        stopper = Stopper()
        stopper.install()
        if early:
            raise KeyboardInterrupt
        from efge.cli.app import run

        code = run(lambda: stopper.received)
        stopper.finish()
    except KeyboardInterrupt:
        if stopper is not None:
            stopper.finish()
        code = 130
    if code == 130:
        _print_stopped()
    sys.exit(code)


def _print_stopped() -> None:
    from efge.cli.console import VERBOSITY

    try:
        print(f"efge: stopped; {VERBOSITY.if_interrupted()}", file=sys.stderr, flush=True)
    except OSError:
        # The terminal was closed.
        sys.stderr = None
