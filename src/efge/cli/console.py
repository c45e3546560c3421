"""What is said on standard error: messages, progress as a bar on a terminal and as lines elsewhere."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

# Seconds between lines of progress where there is no terminal, and before the first.
_BETWEEN_LINES = 10.0

Advance = Callable[[float, float, str], None]


@dataclass
class Voice:
    """How much to say, set by the options --quiet, --verbose and --debug; and what to say of a run that is stopped."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    if_stopped: str = "nothing was written"


VOICE = Voice()


def say(text: str) -> None:
    """A line on standard error, unless all is to be quiet."""
    if not VOICE.quiet:
        print(f"efge: {text}", file=sys.stderr)


def explain(text: str) -> None:
    """A line for those who want to know more."""
    if VOICE.verbose:
        say(text)


@contextmanager
def progress(what: str, unit: str) -> Iterator[Advance]:
    """A function to call with what is done, what there is in all, and a note: a bar on a terminal, lines elsewhere."""
    if VOICE.quiet:
        yield lambda done, total, note: None
    elif sys.stderr.isatty():
        with _bar(what, unit) as advance:
            yield advance
    else:
        yield _lines(what, unit)


def counter(advance: Advance, total: int) -> Callable[[int], None]:
    """A function to call with how many more are done."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        advance(done, total, "")

    return count


@contextmanager
def _bar(what: str, unit: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=60) as bar:
        task, begin = bar.add_task("", total=None), time.perf_counter()

        def advance(done: float, total: float, note: str) -> None:
            rate = _rate(done, time.perf_counter() - begin, unit)
            bar.update(task, completed=done, total=total, description=" ".join(filter(None, (rate, note))))

        yield advance


def _lines(what: str, unit: str) -> Advance:
    begin = last = time.perf_counter()

    def advance(done: float, total: float, note: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last < _BETWEEN_LINES or not done:
            return
        last = now
        left = duration((now - begin) * (total - done) / done)
        say(
            ", ".join(
                filter(None, (f"{what} {done / total:.0%}", _rate(done, now - begin, unit), f"{left} left", note))
            )
        )

    return advance


def _rate(done: float, seconds: float, unit: str) -> str:
    if not unit or not done or not seconds:
        return ""
    rate = done / seconds
    scale, letter = next(((s, c) for s, c in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if rate >= s), (1.0, ""))
    return f"{rate / scale:.1f} {letter}{unit}/s"


def duration(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> duration(4.2), duration(200), duration(9000)
    ('4 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def size(count: float) -> str:
    """A number of bytes as people say it.

    Examples
    --------
    >>> size(2.5e8)
    '250 MB'
    """
    return f"{count / 1e6:,.0f} MB" if count < 1e10 else f"{count / 1e9:,.1f} GB"


def size_in_bytes(text: str) -> int:
    """A size as people write it, in bytes; units are powers of 1024.

    Examples
    --------
    >>> size_in_bytes("4G"), size_in_bytes("512 MiB"), size_in_bytes("1.5kb")
    (4294967296, 536870912, 1536)
    """
    amount = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kmgt]?)i?b?", text.strip().lower())
    if amount is None or not float(amount[1]):
        raise ValueError(f"a size is a number of bytes, as 512M or 4G; got {text!r}")
    return int(float(amount[1]) * 1024 ** " kmgt".index(amount[2] or " "))


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """A table on standard output: columns in line for people, and for programs that split by white space."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    sys.stdout.flush()
