"""Fill every figure of README and documentation from the records in `results`.

    python benchmarks/figures.py            # write the pages (make figures)
    python benchmarks/figures.py --check    # exit code 1 and the names of pages that differ from the records

A page has a figure between two comments, each on a line of its own: ``<!-- figures: NAME -->`` and
``<!-- end figures -->``. What stands between them is replaced. The names are those of `BLOCKS`.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import figures_bench
import figures_choosing
import figures_large
import figures_newnodes
import figures_precision
import figures_predictability
import figures_quality
import figures_recommending
import figures_scaling
import figures_scores
import figures_time_to_quality
import figures_trials

ROOT = Path(__file__).resolve().parents[1]

BLOCKS: dict[str, Callable[[], str]] = {
    **figures_bench.BLOCKS,
    **figures_choosing.BLOCKS,
    **figures_large.BLOCKS,
    **figures_newnodes.BLOCKS,
    **figures_precision.BLOCKS,
    **figures_predictability.BLOCKS,
    **figures_quality.BLOCKS,
    **figures_recommending.BLOCKS,
    **figures_scaling.BLOCKS,
    **figures_scores.BLOCKS,
    **figures_time_to_quality.BLOCKS,
    **figures_trials.BLOCKS,
}

_BLOCK = re.compile(r"^<!-- figures: (?P<name>.*?) -->\n.*?^<!-- end figures -->$", re.M | re.S)
_MARKER = re.compile(r"<!-- *(?:end +)?figures\b")


def pages(root: Path = ROOT) -> list[Path]:
    """The pages that may have figures."""
    return [*root.glob("*.md"), *(root / "docs").glob("*.md"), *(root / "benchmarks/results").glob("*.md")]


def filled(text: str, where: str) -> str:
    """The text of a page, with each figure as the records have it; unknown and unpaired markers are errors."""

    def fill(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in BLOCKS:
            raise ValueError(f"{where}: no figure {name!r}; known: {', '.join(sorted(BLOCKS))}")
        if len(_MARKER.findall(found[0])) != 2:
            raise ValueError(f"{where}: the figure {name!r} has no end")
        lines = "\n".join(map(_wrapped, BLOCKS[name]().split("\n")))
        return f"<!-- figures: {name} -->\n\n{lines}\n\n<!-- end figures -->"

    complete = _BLOCK.sub(fill, text)
    if len(_MARKER.findall(complete)) != 2 * len(_BLOCK.findall(complete)):
        raise ValueError(f"{where}: a figure's marker is alone or not on a line of its own")
    return complete


def _wrapped(line: str) -> str:
    """A line of prose in lines as long as those of the sources; tables as they are."""
    if line.startswith("|"):
        return line
    return textwrap.fill(line, 120, subsequent_indent="  " * line.startswith("- "), break_on_hyphens=False)


def shown(text: str) -> list[str]:
    """The names of the figures on a page."""
    return [found["name"] for found in _BLOCK.finditer(text)]


def without_figures(text: str) -> str:
    """The text of a page that is written by hand."""
    return _BLOCK.sub("", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a page differs")
    options = parser.parse_args()
    stale = []
    for page in pages():
        text = page.read_text("utf-8")
        complete = filled(text, str(page.relative_to(ROOT)))
        if complete != text:
            stale.append(str(page.relative_to(ROOT)))
            if not options.check:
                page.write_text(complete, "utf-8")
    if options.check and stale:
        sys.exit(f"these pages differ from the records; run make figures: {', '.join(stale)}")
    print(f"{len(stale)} pages written" if stale else "all pages agree with the records")


if __name__ == "__main__":
    main()
