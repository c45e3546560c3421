"""Put a complete run of `efge reproduce` into the record of the documentation, and its figures beside the page.

    efge reproduce -o reproduction && python benchmarks/reproduction.py reproduction    (make reproduction)

The record is ``results/reproduction.json``. Its other tables, of trials by hand, stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from pathlib import Path
from typing import Any

from efge.evaluation.results import Summary
from efge.experiments import tables
from records import save

PROGRAM = "efge reproduce and benchmarks/reproduction.py"
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images" / "reproduction"


def read_entries(path: Path) -> list[tables.Entry]:
    """The cells of the paper's tables, as `efge reproduce` wrote them to ``tables.csv``."""
    _, *rows = csv.reader(path.read_text("utf-8").splitlines())
    return [
        tables.Entry(*row[:6], Summary(*map(float, row[6:10]), int(row[10])), float(row[11]) if row[11] else None)  # type: ignore[call-arg, arg-type]
        for row in rows
    ]


def record(folder: Path) -> None:
    entries = read_entries(folder / "tables.csv")
    columns = ["study", "network", "method", "value", "metric", "column", "mean"]
    scores: list[list[Any]] = [
        [*entry[:6], round(entry.ours.mean, 6)] for entry in entries if entry.study != "dolphins"
    ]
    save("reproduction", "scores", columns, scores, PROGRAM)
    claims = tables.claims_table(entries)
    if claims is not None:
        save("reproduction", "claims", claims.header, claims.rows, PROGRAM)
    splits = {entry.network: entry.ours.repeats for entry in entries if entry.study == "links"}
    save("reproduction", "repeats", ["network", "link splits"], splits.items(), PROGRAM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder that efge reproduce wrote")
    options = parser.parse_args()
    record(options.folder)
    for figure in (options.folder / "figures").glob("*.svg"):
        # The page shows the dolphins as PNG.
        source = figure.with_suffix(".png") if figure.stem == "dolphins" else figure
        shutil.copyfile(source, IMAGES / source.name)


if __name__ == "__main__":
    main()
