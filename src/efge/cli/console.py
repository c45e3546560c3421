"""Messages and progress on standard error, tables on standard output.

Progress is a bar on a terminal and an occasional line elsewhere.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from efge.progress import Advance, format_rate, show_bar

# Without a terminal: seconds before the first progress line, and between two of them.
_SECONDS_BETWEEN_LINES = 10.0


@dataclass
class Verbosity:
    """How much to print, from the options --quiet, --verbose and --debug.

    ``if_interrupted`` returns what an interrupted command leaves behind.
    """

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    if_interrupted: Callable[[], str] = lambda: "nothing was written"


VERBOSITY = Verbosity()


def log_info(text: str) -> None:
    """Print a line on standard error, unless --quiet was given."""
    if not VERBOSITY.quiet:
        print(f"efge: {text}", file=sys.stderr)


def log_verbose(text: str) -> None:
    """Print a line on standard error if --verbose was given."""
    if VERBOSITY.verbose:
        log_info(text)


def describe_in_shell(message: str) -> str:
    """Return a message in one line, without the function that takes what the shell has options for.

    Examples
    --------
    >>> describe_in_shell("choose them, as source=0, target=2 (--source 0 --target 2), in efge.as_graph")
    'choose them, as source=0, target=2 (--source 0 --target 2)'
    """
    return re.sub(r"(\([^()]*--[^()]*\)),? (?:in|to) efge\.as_graph", r"\1", " ".join(message.split()))


@contextmanager
def progress(label: str, unit: str) -> Iterator[Advance]:
    """Yield a function that shows progress: as a bar on a terminal, as lines elsewhere."""
    if VERBOSITY.quiet:
        yield lambda done, total, note: None
    elif sys.stderr.isatty():
        with show_bar(label, unit) as advance:
            yield advance
    else:
        yield _progress_lines(label, unit)


def _progress_lines(label: str, unit: str) -> Advance:
    last = time.perf_counter()
    first: tuple[float, float] | None = None

    def advance(done: float, total: float, note: str) -> None:
        nonlocal first, last
        now = time.perf_counter()
        # What is done at the first report also took the time to compile, and so says nothing of the rate.
        first = first or ((now, done) if done else None)
        if now - last < _SECONDS_BETWEEN_LINES or first is None:
            return
        last = now
        seconds, newly_done = now - first[0], done - first[1]
        remaining = f"{format_duration(seconds * (total - done) / newly_done)} left" if newly_done > 0 else ""
        rate = format_rate(newly_done, seconds, unit)
        log_info(", ".join(filter(None, (f"{label} {done / total:.0%}", rate, remaining, note))))

    return advance


def format_duration(seconds: float) -> str:
    """Format a time in seconds, minutes or hours.

    Examples
    --------
    >>> format_duration(4.2), format_duration(200), format_duration(9000)
    ('4 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def format_bytes(count: float) -> str:
    """Format a number of bytes in megabytes or gigabytes.

    Examples
    --------
    >>> format_bytes(2.5e8)
    '250 MB'
    """
    return f"{count / 1e6:,.0f} MB" if count < 1e10 else f"{count / 1e9:,.1f} GB"


def parse_bytes(text: str) -> int:
    """Parse a size such as 4G into bytes; units are powers of 1024.

    Examples
    --------
    >>> parse_bytes("4G"), parse_bytes("512 MiB"), parse_bytes("1.5kb")
    (4294967296, 536870912, 1536)
    """
    amount = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if amount is None or not float(amount[1]):
        raise ValueError(f"a size is a number with an optional unit, such as 512M or 4G; got {text!r}")
    return int(float(amount[1]) * 1024 ** " kmgt".index(amount[2] or " "))


def parse_seconds(text: str) -> float:
    """Parse a time such as 30s, 5min or 1h into seconds.

    Examples
    --------
    >>> parse_seconds("30s"), parse_seconds("1.5 h"), parse_seconds("5m")
    (30.0, 5400.0, 300.0)
    """
    amount = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(s|min|m|h)?", text.strip())
    if amount is None:
        raise ValueError(f"a time is a number followed by s, min or h, such as 30s; got {text!r}")
    return float(amount[1]) * {"s": 1, "min": 60, "m": 60, "h": 3600}[amount[2] or "s"]


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output, with aligned columns that programs can split at white space."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    sys.stdout.flush()
