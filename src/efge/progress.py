"""Progress of long computations: reports to a function of the caller, or a bar in a terminal or notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

# Shows progress: work done, total work, and a note beside them.
Advance = Callable[[float, float, str], None]

# A computation shows a bar by itself only if it takes longer than this.
_SECONDS_BEFORE_BAR = 2.0
_SECONDS_BETWEEN_DRAWINGS = 0.2


@dataclass(frozen=True)
class Progress:
    """Progress of training: pairs trained, total pairs, and the latest mean log-likelihood of the held-out pairs.

    Examples
    --------
    >>> Progress(pairs=500, total=1000, log_likelihood=-3.5)
    Progress(pairs=500, total=1000, log_likelihood=-3.5)
    """

    pairs: int
    total: int
    log_likelihood: float


# What functions take as `progress`: True or False for a bar or none, None for a bar where a person is waiting, or a
# function to report to.
FitProgress = bool | Callable[[Progress], None] | None
CountProgress = bool | Callable[[int], None] | None


@contextmanager
def reporting_fit(progress: FitProgress, label: str = "training") -> Iterator[Callable[[Progress], None]]:
    """Yield a function that reports the progress of training as the caller wishes."""
    if callable(progress):
        yield progress
        return
    with _wanted_bar(progress, label, "pairs") as advance:
        yield lambda report: advance(report.pairs, report.total, describe_likelihood(report))


@contextmanager
def reporting_count(progress: CountProgress, total: int, label: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes numbers of finished items, and reports them as the caller wishes."""
    if callable(progress):
        yield progress
        return
    with _wanted_bar(progress, label, unit) as advance:
        yield counter(advance, total)


def counter(advance: Advance, total: int) -> Callable[[int], None]:
    """Return a function that adds a number of finished items to the progress."""
    done = 0

    def count(finished: int) -> None:
        nonlocal done
        done += finished
        advance(done, total, "")

    return count


def describe_likelihood(report: Progress) -> str:
    """Return the latest log-likelihood as a note, or nothing if there is none."""
    is_known = report.log_likelihood == report.log_likelihood
    return f"log-likelihood {report.log_likelihood:.4f}" if is_known else ""


@contextmanager
def _wanted_bar(wanted: bool | None, label: str, unit: str) -> Iterator[Advance]:
    if wanted is not None and not isinstance(wanted, bool):
        raise ValueError(f"progress is True, False, None or a function; got {wanted!r}")
    if wanted or (wanted is None and _is_interactive()):
        with show_bar(label, unit, 0.0 if wanted else _SECONDS_BEFORE_BAR) as advance:
            yield advance
    else:
        yield lambda done, total, note: None


def _find_shell() -> Any:
    """Return the shell of IPython if this process runs in one; IPython is not imported for it."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _in_notebook() -> bool:
    return hasattr(_find_shell(), "kernel")


def _is_interactive() -> bool:
    """Return whether a person waits for each result: in a notebook, or at Python's prompt in a terminal."""
    at_prompt = hasattr(sys, "ps1") or _find_shell() is not None
    return _in_notebook() or bool(at_prompt and sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def show_bar(label: str, unit: str, delay: float = 0.0) -> Iterator[Advance]:
    """Yield a function that shows a bar, in a notebook or on standard error, `delay` seconds from now."""
    start = time.perf_counter()
    draw: Advance | None = None
    with ExitStack() as stack:

        def advance(done: float, total: float, note: str) -> None:
            nonlocal draw
            seconds = time.perf_counter() - start
            if draw is None and seconds >= delay:
                draw = stack.enter_context(_notebook_bar(label) if _in_notebook() else _terminal_bar(label))
            if draw is not None:
                draw(done, total, " ".join(filter(None, (format_rate(done, seconds, unit), note))))

        yield advance


@contextmanager
def _terminal_bar(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn(label),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=60) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, note: bar.update(task, completed=done, total=total, description=note)


@contextmanager
def _notebook_bar(label: str) -> Iterator[Advance]:
    """Show a bar in the output of a cell; it disappears at the end."""
    from IPython.display import HTML, display

    handle: Any = display(HTML(escape(label)), display_id=True)
    last = 0.0

    def draw(done: float, total: float, note: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _SECONDS_BETWEEN_DRAWINGS or done >= total:
            last = now
            bar = f'<progress value="{done:g}" max="{total or 1:g}" style="vertical-align: middle"></progress>'
            share = f"{done / total:.0%}" if total else ""
            handle.update(HTML(f"{escape(label)} {bar} {share} {escape(note)}"))

    try:
        yield draw
    finally:
        handle.update(HTML(""))


def format_rate(done: float, seconds: float, unit: str) -> str:
    """Format the number of items per second.

    Examples
    --------
    >>> format_rate(3_000_000, 2, "pairs")
    '1.5 Mpairs/s'
    """
    if not unit or not done or not seconds:
        return ""
    rate = done / seconds
    scale, letter = next(((s, c) for s, c in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if rate >= s), (1.0, ""))
    return f"{rate / scale:.1f} {letter}{unit}/s"
