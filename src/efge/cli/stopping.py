"""How signals stop a command: as KeyboardInterrupt, again if it was lost, and never in imports or in LLVM's code."""

from __future__ import annotations

import _thread
import signal
import sys
import time
from types import FrameType
from typing import Any

from efge.system import install_handler, send_to_main_thread

# Seconds until a signal that could not stop the command is tried again.
_RETRY_SECONDS = 0.02


class Stopper:
    """Raises KeyboardInterrupt in the main thread when a signal asks the command to stop.

    An interrupt in an import could end in the messages of a library whose extension cannot be loaded, and one in the
    code of llvmlite, which calls LLVM and is called back by it, in a crash; both wait for the end of that code. An
    interrupt that is raised in any other callback from compiled code is lost: Python reports it as unraisable. All are
    tried again. A second signal does not wait.
    """

    def __init__(self) -> None:
        self.received = False
        self._number = signal.SIGINT
        self._finished = False
        # Raised interrupts so far; a repetition that was planned before the last one is not needed any more.
        self._raised = 0
        self._is_repetition = False

    def install(self) -> None:
        """Handle signals from now on, except those that this process was started to ignore."""
        install_handler(self._handle)
        self._report_unraisable = sys.unraisablehook
        sys.unraisablehook = self._catch_unraisable

    def finish(self) -> None:
        """Ignore signals from now on: the command is done, and only the interpreter's end is left."""
        self._finished = True
        self._raised += 1

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._finished:
            return
        is_second = self.received and not self._is_repetition
        self.received, self._is_repetition, self._number = True, False, signal.Signals(number)
        if not is_second and _must_wait(frame):
            self._repeat()
            return
        self._raised += 1
        raise KeyboardInterrupt

    def _catch_unraisable(self, unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            self._report_unraisable(unraisable)
        elif not self._finished:
            self._repeat()

    def _repeat(self) -> None:
        """Send the signal to this process again, a moment later; a `threading.Timer` takes locks, which may be held."""
        raised = self._raised

        def send() -> None:
            time.sleep(_RETRY_SECONDS)
            if self._raised == raised:
                self._is_repetition = True
                send_to_main_thread(self._number)

        _thread.start_new_thread(send, ())


def _must_wait(frame: FrameType | None) -> bool:
    """Return whether a frame is part of an import, or of a call of LLVM."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith("<frozen importlib") or "llvmlite" in name:
            return True
        frame = frame.f_back
    return False
